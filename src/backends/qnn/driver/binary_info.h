// What a context binary says about itself, read by libQnnSystem.so alone.
#ifndef HEXLANE_BACKENDS_QNN_DRIVER_BINARY_INFO_H_
#define HEXLANE_BACKENDS_QNN_DRIVER_BINARY_INFO_H_

#include "backends/qnn/driver/library.h"
#include "backends/qnn/driver/tensor.h"

namespace hexlane::qnn {

struct GraphInfo {
  std::string name;
  std::vector<TensorInfo> inputs, outputs;
  uint64_t spill_fill_bytes = 0;
  uint32_t vtcm_mib = 0;
  uint32_t optimization_level = 0;
};

struct BinaryInfo {
  std::string build_id;
  abi::Version core = {};
  abi::Version backend = {};
  uint32_t soc = 0;
  uint32_t htp_arch = 0;  // 75 = V75; 0 unknown
  std::vector<GraphInfo> graphs;
};

// kCorrupt when the library cannot read the bytes; `where` names the file.
Result<BinaryInfo> ReadBinaryInfo(const SystemLibrary& library, std::span<const std::byte> binary,
                                  std::string_view where);

}  // namespace hexlane::qnn

#endif  // HEXLANE_BACKENDS_QNN_DRIVER_BINARY_INFO_H_
