// LLaMA 1 to 3 and everything built like them (SmolLM, TinyLlama, …): pre-norm, grouped-query
// attention with rotary embeddings, SwiGLU. Touvron et al. 2023; Grattafiori et al. 2024.
#include "base/json.h"
#include "models/models.h"
#include "models/rope_scaling.h"

namespace hexlane {
namespace {

using Rotary = TensorName::Rotary;
constexpr TensorName kTensors[] = {
    {"embed.weight", "model.embed_tokens.weight", "token_embd.weight"},
    {"layers.{}.attn_norm.weight", "model.layers.{}.input_layernorm.weight",
     "blk.{}.attn_norm.weight"},
    {"layers.{}.q_proj.weight", "model.layers.{}.self_attn.q_proj.weight", "blk.{}.attn_q.weight",
     Rotary::kQuery},
    {"layers.{}.q_proj.bias", "model.layers.{}.self_attn.q_proj.bias", "blk.{}.attn_q.bias",
     Rotary::kQuery},
    {"layers.{}.k_proj.weight", "model.layers.{}.self_attn.k_proj.weight", "blk.{}.attn_k.weight",
     Rotary::kKey},
    {"layers.{}.k_proj.bias", "model.layers.{}.self_attn.k_proj.bias", "blk.{}.attn_k.bias",
     Rotary::kKey},
    {"layers.{}.v_proj.weight", "model.layers.{}.self_attn.v_proj.weight", "blk.{}.attn_v.weight"},
    {"layers.{}.v_proj.bias", "model.layers.{}.self_attn.v_proj.bias", "blk.{}.attn_v.bias"},
    {"layers.{}.o_proj.weight", "model.layers.{}.self_attn.o_proj.weight",
     "blk.{}.attn_output.weight"},
    {"layers.{}.o_proj.bias", "model.layers.{}.self_attn.o_proj.bias", "blk.{}.attn_output.bias"},
    {"layers.{}.ffn_norm.weight", "model.layers.{}.post_attention_layernorm.weight",
     "blk.{}.ffn_norm.weight"},
    {"layers.{}.gate_proj.weight", "model.layers.{}.mlp.gate_proj.weight",
     "blk.{}.ffn_gate.weight"},
    {"layers.{}.gate_proj.bias", "model.layers.{}.mlp.gate_proj.bias", "blk.{}.ffn_gate.bias"},
    {"layers.{}.up_proj.weight", "model.layers.{}.mlp.up_proj.weight", "blk.{}.ffn_up.weight"},
    {"layers.{}.up_proj.bias", "model.layers.{}.mlp.up_proj.bias", "blk.{}.ffn_up.bias"},
    {"layers.{}.down_proj.weight", "model.layers.{}.mlp.down_proj.weight",
     "blk.{}.ffn_down.weight"},
    {"layers.{}.down_proj.bias", "model.layers.{}.mlp.down_proj.bias", "blk.{}.ffn_down.bias"},
    {"final_norm.weight", "model.norm.weight", "output_norm.weight"},
    {"lm_head.weight", "lm_head.weight", "output.weight"},
};

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

// Biases that the config does not speak of would be left out.
Result<void> CheckBiases(const Checkpoint& checkpoint, const DecoderConfig& config,
                         const std::string& where) {
  for (const StoredTensor& tensor : checkpoint.tensors()) {
    const bool attention = tensor.name.find(".self_attn.") != std::string::npos;
    if (!tensor.name.ends_with("_proj.bias")) continue;
    if (attention ? config.attention_bias : config.mlp_bias) continue;
    return InvalidInput("tensor '{}' is there, but the config says that there are no biases",
                        tensor.name)
        .At("{}", where)
        .Want("\"{}\": true", attention ? "attention_bias" : "mlp_bias")
        .Remedy("The config or the architecture it names belongs to another model");
  }
  return {};
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
  config.attention_bias = TRY(JsonFieldOr<bool>(json, "attention_bias", false, where));
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
  TRY(CheckBiases(checkpoint, config, where));
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

Result<void> ReadGgufRope(const Checkpoint& checkpoint, DecoderConfig& config) {
  const Json& json = checkpoint.config();
  const std::string& where = checkpoint.where();
  const double theta = TRY(JsonFieldOr<double>(json, "llama.rope.freq_base", 10000.0, where));
  const int64_t rotary =
      TRY(JsonFieldOr<int64_t>(json, "llama.rope.dimension_count", config.head_dim, where));
  if (rotary <= 0 || rotary > config.head_dim || rotary % 2)
    return InvalidInput("llama.rope.dimension_count is {}", rotary).At("{}", where);
  Json scaling = {
      {"type", TRY(JsonFieldOr<std::string>(json, "llama.rope.scaling.type", "none", where))},
      {"factor", TRY(JsonFieldOr<double>(json, "llama.rope.scaling.factor", 1.0, where))}};
  if (scaling["type"] == "none") scaling = Json();
  if (!scaling.is_null()) {
    const int64_t original = TRY(JsonFieldOr<int64_t>(
        json, "llama.rope.scaling.original_context_length", config.max_context, where));
    scaling["original_max_position_embeddings"] = original;
  }
  const RopeFrequencies rope =
      TRY(ScaledFrequencies(scaling, theta, rotary, config.max_context, where));
  config.inv_freq = rope.inv_freq;
  config.rope_scale = rope.scale;
  return DivideByFactors(checkpoint, config.inv_freq);
}

Result<DecoderConfig> ReadGguf(const Checkpoint& checkpoint) {
  const Json& json = checkpoint.config();
  const std::string& where = checkpoint.where();
  const auto integer = [&](std::string_view key) { return JsonField<int64_t>(json, key, where); };
  DecoderConfig config;
  config.layers = TRY(integer("llama.block_count"));
  config.hidden = TRY(integer("llama.embedding_length"));
  config.heads = TRY(integer("llama.attention.head_count"));
  if (config.heads <= 0)
    return InvalidInput("llama.attention.head_count is {}", config.heads).At("{}", where);
  config.kv_heads =
      TRY(JsonFieldOr<int64_t>(json, "llama.attention.head_count_kv", config.heads, where));
  config.head_dim = TRY(JsonFieldOr<int64_t>(json, "llama.attention.key_length",
                                             config.hidden / config.heads, where));
  config.ffn = TRY(integer("llama.feed_forward_length"));
  config.max_context = TRY(integer("llama.context_length"));
  config.norm_eps = static_cast<float>(
      TRY(JsonField<double>(json, "llama.attention.layer_norm_rms_epsilon", where)));
  const StoredTensor* table = checkpoint.Find("token_embd.weight");
  if (table == nullptr || table->shape.rank() != 2)
    return NotFound("tensor 'token_embd.weight' is missing").At("{}", where);
  config.vocab = table->shape[0];
  config.tied = checkpoint.Find("output.weight") == nullptr;
  config.attention_bias = checkpoint.Find("blk.0.attn_q.bias") != nullptr;
  config.mlp_bias = checkpoint.Find("blk.0.ffn_gate.bias") != nullptr;
  config.eos_ids = EosIds(checkpoint.generation_config());
  TRY(ReadGgufRope(checkpoint, config));
  return config;
}

}  // namespace

std::span<const TensorName> LlamaTensors() { return kTensors; }

Result<DecoderConfig> ReadLlamaConfig(const Checkpoint& checkpoint) {
  return checkpoint.format() == "gguf" ? ReadGguf(checkpoint) : ReadHuggingFace(checkpoint);
}

Result<ValueId> BuildLlamaLayer(UnitBuilder& b, ValueId hidden) {
  const DecoderConfig& c = b.config();
  const int64_t q_dim = c.heads * c.head_dim, kv_dim = c.kv_heads * c.head_dim;
  const ValueId x = b.RmsNorm("attn_norm", hidden, "attn_norm.weight");
  const ValueId q = b.Rope("q", b.Linear("q_proj", x, "q_proj", q_dim, c.attention_bias));
  const ValueId k = b.Rope("k", b.Linear("k_proj", x, "k_proj", kv_dim, c.attention_bias));
  const ValueId v = b.Linear("v", x, "v_proj", kv_dim, c.attention_bias);
  const ValueId attention = b.Attention("attn", q, k, v);
  const ValueId o = b.Linear("o_proj", attention, "o_proj", c.hidden, c.attention_bias);
  const ValueId middle = b.Add("attn_add", hidden, o);
  const ValueId y = b.RmsNorm("ffn_norm", middle, "ffn_norm.weight");
  return b.Add("out", middle, b.SwiGlu(y));
}

}  // namespace hexlane
