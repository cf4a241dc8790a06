#include "backends/qnn/driver/tensor.h"

#include <array>

namespace hexlane::qnn {

size_t ElementBytes(DataType type) {
  switch (type) {
    case DataType::kI8:
    case DataType::kSFixed8:
    case DataType::kUFixed8:
    case DataType::kBool8: return 1;
    case DataType::kF16:
    case DataType::kSFixed16:
    case DataType::kUFixed16: return 2;
    case DataType::kI32:
    case DataType::kU32:
    case DataType::kF32:
    case DataType::kSFixed32: return 4;
  }
  return 0;
}

std::string_view DataTypeName(DataType type) {
  switch (type) {
    case DataType::kI8: return "i8";
    case DataType::kI32: return "i32";
    case DataType::kU32: return "u32";
    case DataType::kF16: return "f16";
    case DataType::kF32: return "f32";
    case DataType::kSFixed8: return "signed fixed 8";
    case DataType::kSFixed16: return "signed fixed 16";
    case DataType::kSFixed32: return "signed fixed 32";
    case DataType::kUFixed8: return "unsigned fixed 8";
    case DataType::kUFixed16: return "unsigned fixed 16";
    case DataType::kBool8: return "bool";
  }
  return "unknown type";
}

Result<TensorInfo> ReadTensorInfo(const abi::Tensor& tensor) {
  const abi::TensorBody& body = tensor.v1;
  TensorInfo info;
  info.name = body.name ? body.name : "";
  if (body.rank > Shape::kMaxRank || (body.rank && !body.dims))
    return Unsupported("tensor of rank {} in a QNN graph", body.rank).At("{}", info.name);
  if (ElementBytes(body.data_type) == 0)
    return Unsupported("unknown data type 0x{:x} in a QNN graph",
                       static_cast<uint32_t>(body.data_type))
        .At("{}", info.name);
  std::array<int64_t, Shape::kMaxRank> dims;
  std::copy(body.dims, body.dims + body.rank, dims.begin());
  info.id = body.id;
  info.spec = {body.data_type, Shape(std::span(dims).first(body.rank)), {}};
  TRY(CheckedElements(info.spec.shape.dims()));
  if (body.quant.definition == abi::Defined::kYes &&
      body.quant.encoding == abi::QuantEncoding::kScaleOffset)
    info.spec.quant = PerTensor{body.quant.scale_offset.scale, body.quant.scale_offset.offset};
  return info;
}

}  // namespace hexlane::qnn
