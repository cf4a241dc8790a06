// A folder as Hugging Face's transformers writes it: config.json, generation_config.json, the
// tokenizer's files and the weights: model.safetensors, or shards with
// model.safetensors.index.json, or one *.safetensors of another name.
#include <algorithm>

#include "base/file.h"
#include "base/json.h"
#include "formats/format.h"
#include "formats/huggingface/join_quantised.h"
#include "formats/safetensors/safetensors_index.h"
#include "formats/safetensors/safetensors_reader.h"

namespace hexlane {
namespace fs = std::filesystem;
namespace {

constexpr const char* kConfig = "config.json";
constexpr const char* kGenerationConfig = "generation_config.json";
// Where older AutoGPTQ put what is now config.json's quantization_config.
constexpr const char* kQuantizeConfig = "quantize_config.json";
constexpr const char* kIndex = "model.safetensors.index.json";
constexpr const char* kTokenizer = "tokenizer.json";
constexpr const char* kTokenizerConfig = "tokenizer_config.json";
constexpr const char* kChatTemplate = "chat_template.jinja";
constexpr size_t kMaxConfigBytes = 16u << 20;

bool Exists(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error);
}

class FolderReader {
 public:
  explicit FolderReader(const fs::path& folder) : folder_(folder) {
    parts_.format = "huggingface";
    parts_.where = folder.string();
  }

  Result<CheckpointParts> Run();

 private:
  bool Has(const std::string& name) const { return Exists(folder_ / name); }
  Result<Json> ReadObject(const std::string& name);
  Result<void> ReadWeights();
  Result<void> ReadSharded();
  Result<void> ReadShard(const std::string& name);
  Result<void> CheckIndex(const SafetensorsIndex& index);
  Failure NoSafetensors() const;

  fs::path folder_;
  CheckpointParts parts_;
  std::unordered_map<std::string, std::string> shard_of_;  // of the tensors read so far
};

// A JSON object from a file, which is noted as read.
Result<Json> FolderReader::ReadObject(const std::string& name) {
  const fs::path path = folder_ / name;
  const std::string text = TRY(ReadTextFile(path, kMaxConfigBytes));
  Json json = TRY(ParseJson(text, path.string()));
  if (!json.is_object()) return Corrupt("not a JSON object").At("{}: offset 0", path.string());
  parts_.files.push_back(path);
  return json;
}

std::vector<std::string> SafetensorsIn(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    if (it->path().extension() == ".safetensors") names.push_back(it->path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

Failure FolderReader::NoSafetensors() const {
  if (Has("pytorch_model.bin") || Has("pytorch_model.bin.index.json")) {
    return Unsupported("the weights are a PyTorch pickle (pytorch_model.bin)")
        .At("{}", parts_.where)
        .Want("*.safetensors")
        .Remedy(
            "Convert them once with Python: from transformers import AutoModelForCausalLM as M; "
            "M.from_pretrained('{0}').save_pretrained('{0}')",
            parts_.where);
  }
  return NotFound("there are no weights in the folder")
      .At("{}", parts_.where)
      .Want("model.safetensors, or {} with its shards", kIndex)
      .Remedy("Download the *.safetensors files of the model too");
}

Result<void> FolderReader::ReadWeights() {
  if (Has("model.safetensors")) return ReadShard("model.safetensors");
  if (Has(kIndex)) return ReadSharded();
  const std::vector<std::string> names = SafetensorsIn(folder_);
  if (names.empty()) return NoSafetensors();
  if (names.size() == 1) return ReadShard(names[0]);
  return NotFound("there are several *.safetensors files but no index")
      .At("{}", parts_.where)
      .Want("{}", kIndex)
      .Got("{} and {} more", names[0], names.size() - 1)
      .Remedy("Download {} too", kIndex);
}

Result<void> FolderReader::ReadShard(const std::string& name) {
  const fs::path path = folder_ / name;
  const auto file = TRY(MappedFile::Open(path));
  SafetensorsFile shard = TRY(ReadSafetensors(file->bytes(), path.string()));
  for (StoredTensor& tensor : shard.tensors) {
    const auto [it, fresh] = shard_of_.emplace(tensor.name, name);
    if (!fresh) {
      return Corrupt("tensor '{}' is in two files", tensor.name)
          .At("{}: offset {}", path.string(), tensor.offset)
          .Got("{} and {}", it->second, name);
    }
    tensor.file = static_cast<uint32_t>(parts_.files.size());
    parts_.tensors.push_back(std::move(tensor));
  }
  parts_.files.push_back(path);
  parts_.owners.push_back(file);
  return {};
}

Result<void> FolderReader::ReadSharded() {
  const fs::path path = folder_ / kIndex;
  const std::string text = TRY(ReadTextFile(path));
  const SafetensorsIndex index = TRY(ReadSafetensorsIndex(text, path.string()));
  parts_.files.push_back(path);
  for (const std::string& shard : index.shards) {
    if (!Has(shard)) {
      return NotFound("shard '{}' is missing", shard)
          .At("{}", parts_.where)
          .Want("{} shards, as {} says", index.shards.size(), kIndex)
          .Remedy("Download '{}' too", shard);
    }
    TRY(ReadShard(shard));
  }
  return CheckIndex(index);
}

// Every tensor of the index is where the index says.
Result<void> FolderReader::CheckIndex(const SafetensorsIndex& index) {
  for (const auto& [tensor, shard] : index.shard_of) {
    const auto it = shard_of_.find(tensor);
    if (it != shard_of_.end() && it->second == shard) continue;
    return Corrupt("tensor '{}' is not in the shard that the index names", tensor)
        .At("{}: weight_map", (folder_ / kIndex).string())
        .Want("{}", shard)
        .Got("{}", it == shard_of_.end() ? "no shard" : it->second);
  }
  return {};
}

// Newer transformers keep the chat template in a file of its own; it joins the tokenizer's config,
// where older ones had it.
Result<TokenizerFiles> ReadTokenizer(const fs::path& folder) {
  TokenizerFiles files;
  if (!Exists(folder / kTokenizer)) {
    return NotFound("there is no {}", kTokenizer)
        .At("{}", folder.string())
        .Remedy(
            "Download {} too; a folder with only tokenizer.model must be saved once with a "
            "fast tokenizer of transformers",
            kTokenizer);
  }
  files.tokenizer_json = TRY(ReadTextFile(folder / kTokenizer));
  if (Exists(folder / kTokenizerConfig)) {
    files.tokenizer_config_json = TRY(ReadTextFile(folder / kTokenizerConfig));
    if (files.tokenizer_config_json.empty()) {
      return Corrupt("not a JSON object")
          .At("{}: offset 0", (folder / kTokenizerConfig).string())
          .Got("an empty file")
          .Remedy("Download it again");
    }
  }
  if (!Exists(folder / kChatTemplate)) return files;
  const std::string where = (folder / kTokenizerConfig).string();
  Json config = Json::object();
  if (!files.tokenizer_config_json.empty())
    config = TRY(ParseJson(files.tokenizer_config_json, where));
  if (!config.is_object()) return Corrupt("not a JSON object").At("{}: offset 0", where);
  config["chat_template"] = TRY(ReadTextFile(folder / kChatTemplate, kMaxConfigBytes));
  files.tokenizer_config_json = config.dump(2, ' ', false, Json::error_handler_t::replace);
  return files;
}

Result<CheckpointParts> FolderReader::Run() {
  if (!Has(kConfig) && Has("adapter_config.json")) {
    return Unsupported("this folder is a LoRA adapter, not a model")
        .At("{}", parts_.where)
        .Remedy("Give the folder of the base model");
  }
  if (!Has(kConfig)) {
    return NotFound("there is no {} in the folder", kConfig)
        .At("{}", parts_.where)
        .Remedy("Give the folder of a Hugging Face model, or a .gguf file");
  }
  parts_.config = TRY(ReadObject(kConfig));
  if (Has(kGenerationConfig)) parts_.generation_config = TRY(ReadObject(kGenerationConfig));
  if (!parts_.config.contains("quantization_config") && Has(kQuantizeConfig))
    parts_.config["quantization_config"] = TRY(ReadObject(kQuantizeConfig));
  TRY(ReadWeights());
  TRY(JoinQuantised(parts_));
  for (const char* name : {kTokenizer, kTokenizerConfig, kChatTemplate}) {
    if (!Has(name)) continue;
    TRY(MappedFile::Open(folder_ / name));  // a folder, pipe or device is refused
    parts_.files.push_back(folder_ / name);
  }
  parts_.tokenizer = [folder = folder_] { return ReadTokenizer(folder); };
  return std::move(parts_);
}

}  // namespace

bool ProbeHuggingFace(const fs::path& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

Result<CheckpointParts> OpenHuggingFace(const fs::path& path) { return FolderReader(path).Run(); }

}  // namespace hexlane
