#include "folder.h"

#include "base/file.h"
#include "base/json.h"
#include "shards.h"
#include "tokenizer.h"

namespace hexlane::synthetic {
namespace {

// Marks a folder as made here: its options.
constexpr const char* kRecord = "synthetic.json";

// What an earlier run wrote: the texts and the shards.
Result<std::vector<std::string>> ListEarlier(const std::filesystem::path& folder) {
  TRY(ReadTextFile(folder / kRecord));
  std::vector<std::string> names = {
      kRecord,          "config.json",           "generation_config.json",
      "tokenizer.json", "tokenizer_config.json", "model.safetensors.index.json"};
  std::error_code error;
  for (std::filesystem::directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (name.starts_with("model") && name.ends_with(".safetensors")) names.push_back(name);
  }
  return names;
}

OrderedJson RecordOf(const FolderOptions& options) {
  const ModelShape& shape = options.shape;
  return {{"made_by", "hexlane tools/synthetic_checkpoint"},
          {"seed", options.seed},
          {"layers", shape.layers},
          {"hidden", shape.hidden},
          {"ffn", shape.ffn},
          {"heads", shape.heads},
          {"kv_heads", shape.kv_heads},
          {"vocab", shape.vocab},
          {"max_context", shape.max_context},
          {"tied", shape.tied},
          {"tokenizer", options.tokenizer.string()}};
}

OrderedJson ConfigOf(const ModelShape& shape, const TokenizerTexts& tokenizer) {
  return {{"architectures", {"LlamaForCausalLM"}},
          {"model_type", "llama"},
          {"hidden_size", shape.hidden},
          {"intermediate_size", shape.ffn},
          {"num_hidden_layers", shape.layers},
          {"num_attention_heads", shape.heads},
          {"num_key_value_heads", shape.kv_heads},
          {"vocab_size", shape.vocab},
          {"max_position_embeddings", shape.max_context},
          {"rms_norm_eps", 1e-5},
          {"hidden_act", "silu"},
          {"rope_theta", 10000.0},
          {"rope_scaling", nullptr},
          {"tie_word_embeddings", shape.tied},
          {"attention_bias", false},
          {"mlp_bias", false},
          {"bos_token_id", tokenizer.bos_id},
          {"eos_token_id", tokenizer.eos_id},
          {"torch_dtype", "float16"},
          {"use_cache", true}};
}

Result<void> WriteTexts(const std::filesystem::path& folder, const FolderOptions& options,
                        const std::vector<Shard>& shards) {
  const TokenizerTexts tokenizer =
      TRY(options.tokenizer.empty() ? MakeTokenizer(options.shape)
                                    : CopyTokenizer(options.tokenizer, options.shape));
  const OrderedJson generation = {{"bos_token_id", tokenizer.bos_id},
                                  {"eos_token_id", tokenizer.eos_id}};
  const auto write = [&](const char* name, const std::string& text) {
    return WriteFileAtomically(folder / name, text);
  };
  TRY(write("config.json", ConfigOf(options.shape, tokenizer).dump(2)));
  TRY(write("generation_config.json", generation.dump(2)));
  TRY(write("tokenizer.json", tokenizer.tokenizer_json));
  TRY(write("tokenizer_config.json", tokenizer.config_json));
  if (shards.size() > 1) TRY(write("model.safetensors.index.json", IndexOf(shards).dump(2)));
  return write(kRecord, RecordOf(options).dump(2));
}

}  // namespace

Result<FolderReport> WriteFolder(const FolderOptions& options, ThreadPool& pool) {
  TRY(CheckShape(options.shape));
  StagedDirectory folder = TRY(StagedDirectory::Create(options.output, {.earlier = ListEarlier}));
  const std::vector<Shard> shards = PlanShards(PlanTensors(options.shape), options.shard_bytes);
  TRY(WriteTexts(folder.path(), options, shards));  // first: they can be refused
  const NoiseTable table;
  FolderReport report{.shards = shards.size()};
  for (const Shard& shard : shards) {
    TRY(WriteShard(folder.path(), shard, options.seed, table, pool));
    for (const TensorPlan& tensor : shard.tensors) {
      report.parameters += tensor.elements();
      report.bytes += BytesOf(tensor);
    }
  }
  TRY(folder.Commit());
  return report;
}

}  // namespace hexlane::synthetic
