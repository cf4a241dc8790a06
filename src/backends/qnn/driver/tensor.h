// Tensors of a QNN graph: what the builder is told and what a graph reports.
#ifndef HEXLANE_BACKENDS_QNN_DRIVER_TENSOR_H_
#define HEXLANE_BACKENDS_QNN_DRIVER_TENSOR_H_

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "backends/qnn/driver/abi.h"
#include "base/shape.h"

namespace hexlane::qnn {

using abi::DataType;
using abi::ScaleOffset;

size_t ElementBytes(DataType type);
std::string_view DataTypeName(DataType type);  // "f16", "u16 fixed"

// How integer elements stand for real numbers. HTP honours: kinds other than PerTensor on static
// weights only.
struct PerTensor {
  float scale = 1;
  int32_t offset = 0;  // real = (q + offset) * scale
};
struct PerChannel {  // 8-bit weights, 32-bit biases
  int32_t axis = 0;
  std::vector<ScaleOffset> scales;  // [dims[axis]]; offsets 0
};
struct PerChannelBits {  // fewer than 8 bits in an 8-bit container; offsets 0
  uint32_t bits = 4;
  int32_t axis = 0;
  std::vector<float> scales;  // [dims[axis]]
};
struct PerBlock {               // 4-bit FullyConnected weights with f16 activations
  std::vector<uint32_t> block;  // [rank] elements per block
  std::vector<ScaleOffset>
      scales;  // row order; offsets are silently ignored by the library: keep 0
};
struct Lpbq {           // 4-bit weights with integer block scales: real = q * block_scales * scales
  int32_t axis = 0;     // of the output channels
  uint32_t blocks = 1;  // per channel
  std::vector<ScaleOffset> scales;    // [channels]; offsets 0
  std::vector<uint8_t> block_scales;  // [channels, blocks], 1..16 (20 and more are silently wrong)
};
using Quant = std::variant<std::monostate, PerTensor, PerChannel, PerChannelBits, PerBlock, Lpbq>;

struct TensorSpec {
  DataType type = DataType::kF16;
  Shape shape;
  Quant quant;

  size_t bytes() const { return static_cast<size_t>(shape.elements()) * ElementBytes(type); }
};

// An input or output of a finished graph.
struct TensorInfo {
  std::string name;
  uint32_t id = 0;  // of the library
  TensorSpec spec;  // quant: PerTensor or none
};

// TensorInfo of a tensor that the library reports.
Result<TensorInfo> ReadTensorInfo(const abi::Tensor& tensor);

}  // namespace hexlane::qnn

#endif  // HEXLANE_BACKENDS_QNN_DRIVER_TENSOR_H_
