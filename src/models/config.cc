#include "models/config.h"

#include <algorithm>

#include "base/json.h"
#include "models/rope_scaling.h"

namespace hexlane {
namespace {

std::string Key(std::string_view prefix, std::string_view name) {
  return fmt::format("{}.{}", prefix, name);
}

// eos_token_id is a number, a list or absent.
std::vector<int32_t> EosIds(const Json& config) {
  std::vector<int32_t> ids;
  const auto it = config.find("eos_token_id");
  if (it == config.end()) return ids;
  const Json list = it->is_array() ? *it : Json::array({*it});
  for (const Json& id : list)
    if (id.is_number_integer()) ids.push_back(id.get<int32_t>());
  return ids;
}

Result<DecoderConfig> ReadHuggingFace(const Checkpoint& checkpoint) {
  const Json& json = checkpoint.config();
  const std::string where = checkpoint.where() + "/config.json";
  const auto integer = [&](std::string_view key) { return JsonField<int64_t>(json, key, where); };
  DecoderConfig config;
  config.layers = TRY(integer("num_hidden_layers"));
  config.hidden = TRY(integer("hidden_size"));
  config.heads = TRY(integer("num_attention_heads"));
  config.kv_heads = TRY(JsonFieldOr<int64_t>(json, "num_key_value_heads", config.heads, where));
  if (config.heads <= 0)
    return InvalidInput("num_attention_heads is {}", config.heads).At("{}", where);
  config.head_dim =
      TRY(JsonFieldOr<int64_t>(json, "head_dim", config.hidden / config.heads, where));
  config.ffn = TRY(integer("intermediate_size"));
  config.vocab = TRY(integer("vocab_size"));
  config.max_context = TRY(JsonFieldOr<int64_t>(json, "max_position_embeddings", 2048, where));
  config.norm_eps = static_cast<float>(TRY(JsonFieldOr<double>(json, "rms_norm_eps", 1e-6, where)));
  config.tied = TRY(JsonFieldOr<bool>(json, "tie_word_embeddings", false, where));
  config.qkv_bias = config.output_bias =
      TRY(JsonFieldOr<bool>(json, "attention_bias", false, where));
  config.mlp_bias = TRY(JsonFieldOr<bool>(json, "mlp_bias", false, where));
  const std::string act = TRY(JsonFieldOr<std::string>(json, "hidden_act", "silu", where));
  if (act != "silu") return Unsupported("hidden_act '{}'", act).At("{}", where).Want("silu");

  // transformers 5 writes rope_parameters with theta inside, 4 rope_scaling beside rope_theta.
  const bool v5 = json.contains("rope_parameters");
  const Json parameters = json.value(v5 ? "rope_parameters" : "rope_scaling", Json());
  const double theta =
      TRY(JsonFieldOr<double>(v5 ? parameters : json, "rope_theta", 10000.0, where));
  const RopeFrequencies rope =
      TRY(ScaledFrequencies(parameters, theta, config.head_dim, config.max_context, where));
  for (const Json* object : {&json, &parameters}) {
    const double share = TRY(JsonFieldOr<double>(*object, "partial_rotary_factor", 1.0, where));
    if (share != 1) return Unsupported("partial_rotary_factor {}", share).At("{}", where).Want("1");
  }
  config.inv_freq = rope.inv_freq;
  config.rope_scale = rope.scale;
  config.eos_ids = EosIds(checkpoint.generation_config());
  if (config.eos_ids.empty()) config.eos_ids = EosIds(json);
  return config;
}

// llama.cpp keeps Llama 3.1's scaling as a tensor of per-frequency divisors.
Result<void> DivideByFactors(const Checkpoint& checkpoint, std::vector<float>& inv_freq) {
  const StoredTensor* factors = checkpoint.Find("rope_freqs.weight");
  if (factors == nullptr) return {};
  const std::vector<float> values = TRY(checkpoint.ReadFloats(*factors));
  if (values.size() != inv_freq.size()) {
    return InvalidInput("tensor 'rope_freqs.weight' has {} entries", values.size())
        .At("{}", checkpoint.where())
        .Want("{}", inv_freq.size());
  }
  for (size_t i = 0; i < values.size(); ++i) inv_freq[i] /= values[i];
  return {};
}

Result<void> ReadGgufRope(const Checkpoint& checkpoint, std::string_view prefix,
                          DecoderConfig& config) {
  const Json& json = checkpoint.config();
  const std::string& where = checkpoint.where();
  const double theta =
      TRY(JsonFieldOr<double>(json, Key(prefix, "rope.freq_base"), 10000.0, where));
  const int64_t rotary =
      TRY(JsonFieldOr<int64_t>(json, Key(prefix, "rope.dimension_count"), config.head_dim, where));
  if (rotary <= 0 || rotary > config.head_dim || rotary % 2)
    return InvalidInput("{} is {}", Key(prefix, "rope.dimension_count"), rotary).At("{}", where);
  Json scaling = {
      {"type",
       TRY(JsonFieldOr<std::string>(json, Key(prefix, "rope.scaling.type"), "none", where))},
      {"factor", TRY(JsonFieldOr<double>(json, Key(prefix, "rope.scaling.factor"), 1.0, where))}};
  if (scaling["type"] == "none") scaling = Json();
  if (!scaling.is_null()) {
    const int64_t original = TRY(JsonFieldOr<int64_t>(
        json, Key(prefix, "rope.scaling.original_context_length"), config.max_context, where));
    scaling["original_max_position_embeddings"] = original;
  }
  const RopeFrequencies rope =
      TRY(ScaledFrequencies(scaling, theta, rotary, config.max_context, where));
  config.inv_freq = rope.inv_freq;
  config.rope_scale = rope.scale;
  return DivideByFactors(checkpoint, config.inv_freq);
}

Result<DecoderConfig> ReadGguf(const Checkpoint& checkpoint, std::string_view prefix) {
  const Json& json = checkpoint.config();
  const std::string& where = checkpoint.where();
  const auto integer = [&](std::string_view key) { return JsonField<int64_t>(json, key, where); };
  DecoderConfig config;
  config.layers = TRY(integer(Key(prefix, "block_count")));
  config.hidden = TRY(integer(Key(prefix, "embedding_length")));
  config.heads = TRY(integer(Key(prefix, "attention.head_count")));
  if (config.heads <= 0)
    return InvalidInput("{} is {}", Key(prefix, "attention.head_count"), config.heads)
        .At("{}", where);
  config.kv_heads =
      TRY(JsonFieldOr<int64_t>(json, Key(prefix, "attention.head_count_kv"), config.heads, where));
  config.head_dim = TRY(JsonFieldOr<int64_t>(json, Key(prefix, "attention.key_length"),
                                             config.hidden / config.heads, where));
  config.ffn = TRY(integer(Key(prefix, "feed_forward_length")));
  config.max_context = TRY(integer(Key(prefix, "context_length")));
  config.norm_eps = static_cast<float>(
      TRY(JsonField<double>(json, Key(prefix, "attention.layer_norm_rms_epsilon"), where)));
  const StoredTensor* table = checkpoint.Find("token_embd.weight");
  if (table == nullptr || table->shape.rank() != 2)
    return NotFound("tensor 'token_embd.weight' is missing").At("{}", where);
  config.vocab = table->shape[0];
  config.tied = checkpoint.Find("output.weight") == nullptr;
  config.qkv_bias = checkpoint.Find("blk.0.attn_q.bias") != nullptr;
  config.output_bias = checkpoint.Find("blk.0.attn_output.bias") != nullptr;
  config.qk_norm = checkpoint.Find("blk.0.attn_q_norm.weight") != nullptr;
  config.mlp_bias = checkpoint.Find("blk.0.ffn_gate.bias") != nullptr;
  config.eos_ids = EosIds(checkpoint.generation_config());
  TRY(ReadGgufRope(checkpoint, prefix, config));
  return config;
}

}  // namespace

Result<DecoderConfig> ReadDecoderConfig(const Checkpoint& checkpoint, std::string_view prefix) {
  if (checkpoint.format() == "gguf") return ReadGguf(checkpoint, prefix);
  return ReadHuggingFace(checkpoint);
}

// Biases of zeros, which GPTQ tools write for every layer, add nothing.
Result<void> CheckBiases(const Checkpoint& checkpoint, const DecoderConfig& config) {
  if (checkpoint.format() == "gguf") return {};  // the config was read off the tensors
  for (const StoredTensor& tensor : checkpoint.tensors()) {
    if (!tensor.name.ends_with("_proj.bias")) continue;
    const bool attention = tensor.name.find(".self_attn.") != std::string::npos;
    const bool output = tensor.name.ends_with(".o_proj.bias");
    if (output ? config.output_bias : attention ? config.qkv_bias : config.mlp_bias) continue;
    const std::vector<float> values = TRY(checkpoint.ReadFloats(tensor));
    if (std::ranges::all_of(values, [](float value) { return value == 0; })) continue;
    return InvalidInput("tensor '{}' is there, but the config says that there are no biases",
                        tensor.name)
        .At("{}/config.json", checkpoint.where())
        .Want("\"{}\": true", attention ? "attention_bias" : "mlp_bias")
        .Remedy("The config or the architecture it names belongs to another model");
  }
  return {};
}

}  // namespace hexlane
