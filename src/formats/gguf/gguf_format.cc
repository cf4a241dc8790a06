#include "formats/gguf/gguf_format.h"

#include <algorithm>
#include <fstream>

#include "base/file.h"
#include "formats/gguf/gguf_reader.h"

namespace hexlane {
namespace fs = std::filesystem;
namespace {

// GGUF key -> field of generation_config.json.
constexpr std::pair<const char*, const char*> kGenerationKeys[] = {
    {"tokenizer.ggml.bos_token_id", "bos_token_id"},
    {"tokenizer.ggml.eos_token_id", "eos_token_id"},
    {"tokenizer.ggml.padding_token_id", "pad_token_id"},
    {"general.sampling.temp", "temperature"},
    {"general.sampling.top_k", "top_k"},
    {"general.sampling.top_p", "top_p"},
    {"general.sampling.min_p", "min_p"},
    {"general.sampling.penalty_repeat", "repetition_penalty"},
};
// Further ids that end a turn or a message; with eos_token_id they make an array, as Hugging Face
// writes it.
constexpr const char* kFurtherEndKeys[] = {"tokenizer.ggml.eot_token_id",
                                           "tokenizer.ggml.eom_token_id"};

Json GenerationConfig(const Json& metadata) {
  Json config = Json::object();
  for (const auto& [key, field] : kGenerationKeys)
    if (const auto it = metadata.find(key); it != metadata.end() && it->is_number())
      config[field] = *it;
  for (const char* key : kFurtherEndKeys) {
    const auto it = metadata.find(key);
    if (it == metadata.end() || !it->is_number()) continue;
    Json& ends = config["eos_token_id"];
    if (!ends.is_array()) ends = ends.is_null() ? Json::array() : Json::array({ends});
    if (std::find(ends.begin(), ends.end(), *it) == ends.end()) ends.push_back(*it);
  }
  if (config.contains("eos_token_id") && config["eos_token_id"].size() == 1 &&
      config["eos_token_id"].is_array())
    config["eos_token_id"] = Json(config["eos_token_id"][0]);
  return config;
}

}  // namespace

Result<CheckpointParts> GgufParts(std::span<const std::byte> bytes,
                                  std::shared_ptr<const void> owner, const std::string& where) {
  auto file = std::make_shared<GgufFile>(TRY(ReadGguf(bytes, where)));
  CheckpointParts parts;
  parts.format = "gguf";
  parts.where = where;
  parts.tensors = std::move(file->tensors);
  parts.config = file->metadata;
  parts.generation_config = GenerationConfig(file->metadata);
  parts.owners.push_back(std::move(owner));
  parts.tokenizer = [file, bytes, where]() -> Result<TokenizerFiles> {
    return TokenizerFromGguf(TRY(ReadGgufVocabulary(*file, bytes, where)), where);
  };
  return parts;
}

bool ProbeGguf(const fs::path& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return false;
  char magic[4] = {};
  std::ifstream(path, std::ios::binary).read(magic, sizeof magic);
  return std::string_view(magic, sizeof magic) == "GGUF" || path.extension() == ".gguf";
}

Result<CheckpointParts> OpenGguf(const fs::path& path) {
  const auto file = TRY(MappedFile::Open(path));
  CheckpointParts parts = TRY(GgufParts(file->bytes(), file, path.string()));
  parts.files.push_back(path);
  return parts;
}

}  // namespace hexlane
