#include "formats/inspect.h"

#include "backends/qnn/driver/binary_info.h"
#include "backends/qnn/driver/library.h"
#include "compiler/source.h"
#include "hexlane/compiler.h"

namespace hexlane {
namespace fs = std::filesystem;
namespace {

Json TensorsJson(const std::vector<qnn::TensorInfo>& tensors) {
  Json list = Json::array();
  for (const qnn::TensorInfo& tensor : tensors) {
    const auto dims = tensor.spec.shape.dims();
    Json json = {{"name", tensor.name},
                 {"type", qnn::DataTypeName(tensor.spec.type)},
                 {"shape", std::vector<int64_t>(dims.begin(), dims.end())}};
    if (const auto* encoding = std::get_if<qnn::PerTensor>(&tensor.spec.quant))
      json["encoding"] = {{"scale", encoding->scale}, {"offset", encoding->offset}};
    list.push_back(std::move(json));
  }
  return list;
}

Result<Json> InspectBinary(const fs::path& path, const std::string& vendor_library) {
  const fs::path htp = TRY(qnn::FindLibrary(vendor_library));
  const auto system = TRY(qnn::SystemLibrary::Open(qnn::SystemLibraryBeside(htp)));
  const auto file = TRY(MappedFile::Open(path));
  const qnn::BinaryInfo info = TRY(qnn::ReadBinaryInfo(*system, file->bytes(), path.string()));
  Json graphs = Json::array();
  for (const qnn::GraphInfo& graph : info.graphs) {
    graphs.push_back({{"name", graph.name},
                      {"inputs", TensorsJson(graph.inputs)},
                      {"outputs", TensorsJson(graph.outputs)},
                      {"spill_fill_bytes", graph.spill_fill_bytes},
                      {"vtcm_mib", graph.vtcm_mib},
                      {"optimization_level", graph.optimization_level}});
  }
  return Json{{"path", path.string()},
              {"format", "qnn-context-binary"},
              {"bytes", file->bytes().size()},
              {"build_id", info.build_id},
              {"soc_id", info.soc},
              {"htp_arch", info.htp_arch},
              {"graphs", graphs}};
}

Result<Json> InspectPackage(const fs::path& path) {
  const auto package = TRY(OpenPackage(path));
  const Manifest& manifest = package->manifest();
  Json weights = Json::array();
  for (const WeightEntry& weight : package->weights()) {
    const std::string_view type =
        weight.scheme == Scheme::kPlain ? DTypeName(weight.dtype) : Info(weight.scheme).name;
    const auto dims = weight.shape.dims();
    weights.push_back({{"name", weight.name},
                       {"shape", std::vector<int64_t>(dims.begin(), dims.end())},
                       {"type", type},
                       {"bytes", weight.bytes}});
  }
  return Json{{"path", path.string()},
              {"format", "hexlane-package"},
              {"hexlane_version", manifest.hexlane_version},
              {"source", manifest.source},
              {"architecture", manifest.architecture},
              {"scheme", manifest.scheme},
              {"kv_bits", manifest.kv_bits},
              {"vendor", manifest.vendor},
              {"plan", ToJson(manifest.plan)},
              {"files", package->files()},
              {"weights", weights}};
}

// The first bytes of a file.
std::string_view Head(const MappedFile& file, size_t n) {
  const auto bytes = file.bytes().first(std::min(n, file.bytes().size()));
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Context binaries have no magic of their own: any .bin that does not begin like something else.
Result<void> CheckBinary(const fs::path& path, const MappedFile& file) {
  const std::string_view head = Head(file, 9);
  const bool other = head.empty() || head.starts_with("PK") || head[0] == '{' || head[0] == '[' ||
                     (head.size() == 9 && head[8] == '{');  // zip (PyTorch), JSON, safetensors
  if (path.extension() == ".bin" && !other) return {};
  return Unsupported("'{}' is not a kind of file that Hexlane knows", path.string())
      .Want(
          "a package, a Hugging Face folder, a .gguf or .safetensors file, or a QNN context binary "
          "(.bin)");
}

}  // namespace

Result<std::string> Inspect(const fs::path& path, const std::string& vendor_library) {
  Json json;
  if (IsPackage(path)) {
    json = TRY(InspectPackage(path));
  } else if (fs::is_directory(path) || path.extension() == ".gguf" ||
             path.extension() == ".safetensors") {
    json = TRY(InspectFile(path));
  } else {
    const auto file = TRY(MappedFile::Open(path));
    const bool gguf = Head(*file, 4) == "GGUF";
    if (!gguf) TRY(CheckBinary(path, *file));
    json = gguf ? TRY(InspectFile(path)) : TRY(InspectBinary(path, vendor_library));
  }
  return json.dump(1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace hexlane
