#include "formats/inspect.h"

#include "base/file.h"
#include "base/json.h"
#include "formats/checkpoint.h"
#include "formats/format.h"
#include "formats/gguf/gguf_reader.h"
#include "formats/safetensors/safetensors_reader.h"

namespace hexlane {
namespace fs = std::filesystem;
namespace {

std::string TypeName(const StoredTensor& tensor) {
  if (tensor.type != StorageType::kUnknown) return std::string(Info(tensor.type).name);
  return fmt::format("GGML type {}", tensor.type_number);
}

Json TensorRow(const StoredTensor& tensor) {
  return {{"name", tensor.name},      {"shape", Json(tensor.shape.dims())},
          {"type", TypeName(tensor)}, {"bytes", tensor.stored_bytes()},
          {"offset", tensor.offset},  {"file", tensor.file}};
}

Json Totals(std::span<const StoredTensor> tensors) {
  struct Sum {
    uint64_t tensors = 0, elements = 0, bytes = 0;
    void Add(const StoredTensor& tensor) {
      ++tensors;
      elements += static_cast<uint64_t>(tensor.shape.elements());
      bytes += tensor.stored_bytes();
    }
    Json ToJson() const { return {{"tensors", tensors}, {"elements", elements}, {"bytes", bytes}}; }
  };
  Sum all;
  std::map<std::string, Sum> types;
  for (const StoredTensor& tensor : tensors) {
    all.Add(tensor);
    types[TypeName(tensor)].Add(tensor);
  }
  Json json = all.ToJson();
  json["types"] = Json::object();
  for (const auto& [name, sum] : types) json["types"][name] = sum.ToJson();
  return json;
}

Json Summary(const fs::path& path, std::string_view format, std::span<const StoredTensor> tensors,
             const std::vector<fs::path>& files) {
  Json json = {{"path", path.string()}, {"format", format}, {"totals", Totals(tensors)}};
  json["files"] = Json::array();
  for (const fs::path& file : files) {
    std::error_code error;
    const uint64_t size = fs::file_size(file, error);
    json["files"].push_back({{"name", file.filename().string()}, {"bytes", error ? 0 : size}});
  }
  json["tensors"] = Json::array();
  for (const StoredTensor& tensor : tensors) json["tensors"].push_back(TensorRow(tensor));
  return json;
}

Result<Json> InspectGguf(const fs::path& path) {
  const auto mapped = TRY(MappedFile::Open(path));
  GgufFile file = TRY(ReadGguf(mapped->bytes(), path.string()));
  Json json = Summary(path, "gguf", file.tensors, {path});
  json["version"] = file.version;
  json["alignment"] = file.alignment;
  json["metadata"] = std::move(file.metadata);
  for (const auto& [key, array] : file.arrays)
    if (array.count > kMaxGgufArray)
      json["metadata"][key] = {{"array", GgufTypeName(array.type)}, {"length", array.count}};
  return json;
}

Result<Json> InspectSafetensors(const fs::path& path) {
  const auto mapped = TRY(MappedFile::Open(path));
  const SafetensorsFile file = TRY(ReadSafetensors(mapped->bytes(), path.string()));
  Json json = Summary(path, "safetensors", file.tensors, {path});
  json["metadata"] = Json(file.metadata);
  return json;
}

}  // namespace

Result<Json> InspectFile(const fs::path& path) {
  std::error_code error;
  const bool is_file = fs::is_regular_file(path, error);
  if (is_file && path.extension() == ".safetensors") return InspectSafetensors(path);
  if (is_file && ProbeGguf(path)) return InspectGguf(path);
  const auto checkpoint = TRY(Checkpoint::Open(path));
  Json json = Summary(path, checkpoint->format(), checkpoint->tensors(), checkpoint->files());
  json["metadata"] = checkpoint->config();
  return json;
}

}  // namespace hexlane
