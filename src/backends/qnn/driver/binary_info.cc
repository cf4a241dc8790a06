#include "backends/qnn/driver/binary_info.h"

#include <cstring>

#include "backends/qnn/driver/errors.h"
#include "backends/qnn/driver/silence.h"

namespace hexlane::qnn {
namespace {

constexpr uint32_t kInfoVersion = 3;  // of BinaryInfo and GraphInfo

// The vendor's reader of binaries; owns what getBinaryInfo returns.
class SystemContext {
 public:
  explicit SystemContext(const SystemLibrary& library) : library_(library) {}
  ~SystemContext() {
    if (handle_) library_.fn().SystemContextFree(handle_);
  }
  SystemContext(const SystemContext&) = delete;
  SystemContext& operator=(const SystemContext&) = delete;

  Result<const abi::BinaryInfo*> Read(std::span<const std::byte> binary, std::string_view where) {
    StdoutSilencer silence;
    TRY(CheckStatus(library_.fn().SystemContextCreate(&handle_),
                    "cannot create a QNN system context"));
    const abi::BinaryInfo* info = nullptr;
    uint64_t bytes = 0;
    const abi::Status status = library_.fn().SystemGetBinaryInfo(
        handle_, const_cast<std::byte*>(binary.data()), binary.size(), &info, &bytes);
    if (status != 0 || !info)
      return Corrupt("cannot read the QNN context binary")
          .At("{}", where)
          .Got("{}", Describe(status));
    if (info->version != kInfoVersion)
      return Unsupported("QNN binary info of a version this Hexlane does not know")
          .At("{}", where)
          .Want("{}", kInfoVersion)
          .Got("{}", info->version);
    return info;
  }

 private:
  const SystemLibrary& library_;
  abi::Handle handle_ = nullptr;
};

Result<std::vector<TensorInfo>> Tensors(const abi::Tensor* tensors, uint32_t count) {
  std::vector<TensorInfo> list;
  for (uint32_t i = 0; i < count; ++i) list.push_back(TRY(ReadTensorInfo(tensors[i])));
  return list;
}

Result<GraphInfo> Convert(const abi::GraphInfo& graph) {
  if (graph.version != kInfoVersion)
    return Unsupported("QNN graph info of version {}", graph.version).Want("{}", kInfoVersion);
  GraphInfo info;
  info.name = graph.name ? graph.name : "";
  info.inputs = TRY(Tensors(graph.inputs, graph.num_inputs));
  info.outputs = TRY(Tensors(graph.outputs, graph.num_outputs));
  if (graph.blob && graph.blob_bytes >= sizeof(abi::HtpGraphBlob)) {
    abi::HtpGraphBlob blob;
    std::memcpy(&blob, graph.blob, sizeof blob);
    info.spill_fill_bytes = blob.spill_fill_bytes;
    info.vtcm_mib = blob.vtcm_bytes >> 20;
    info.optimization_level = blob.optimization_level;
  }
  return info;
}

}  // namespace

Result<BinaryInfo> ReadBinaryInfo(const SystemLibrary& library, std::span<const std::byte> binary,
                                  std::string_view where) {
  SystemContext context(library);
  const abi::BinaryInfo* raw = TRY(context.Read(binary, where));
  BinaryInfo info;
  info.build_id = raw->build_id ? raw->build_id : "";
  info.core = raw->core;
  info.backend = raw->backend_version;
  info.soc = raw->soc_id;
  if (raw->meta && raw->meta_bytes >= sizeof(abi::HtpContextBlob)) {
    abi::HtpContextBlob blob;
    std::memcpy(&blob, raw->meta, sizeof blob);
    info.htp_arch = blob.arch;
  }
  for (uint32_t i = 0; i < raw->num_graphs; ++i)
    info.graphs.push_back(TRY(Convert(raw->graphs[i])));
  return info;
}

}  // namespace hexlane::qnn
