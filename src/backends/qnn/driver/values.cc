#include "backends/qnn/driver/values.h"

#include "base/check.h"

namespace hexlane::qnn {
namespace {

struct TypePair {
  DataType qnn;
  DType plain;
};
constexpr TypePair kTypes[] = {
    {DataType::kF16, DType::kF16},    {DataType::kF32, DType::kF32},
    {DataType::kUFixed8, DType::kU8}, {DataType::kUFixed16, DType::kU16},
    {DataType::kSFixed8, DType::kI8}, {DataType::kSFixed16, DType::kI16},
};

}  // namespace

std::optional<Encoding> EncodingOf(const TensorSpec& spec) {
  const auto* quant = std::get_if<PerTensor>(&spec.quant);
  const PerTensor q = quant ? *quant : PerTensor{};
  for (const TypePair& pair : kTypes)
    if (pair.qnn == spec.type)
      return Encoding{.dtype = pair.plain, .scale = q.scale, .offset = q.offset};
  return std::nullopt;
}

TensorSpec SpecOf(const Encoding& encoding, Shape shape) {
  for (const TypePair& pair : kTypes) {
    if (pair.plain != encoding.dtype) continue;
    TensorSpec spec = {pair.qnn, shape, {}};
    if (encoding.is_integer()) spec.quant = PerTensor{encoding.scale, encoding.offset};
    return spec;
  }
  CHECK(false && "encoding has a dtype that QNN tensors do not");
  return {};
}

void EncodeValues(const TensorSpec& spec, std::span<const float> values, std::span<std::byte> out) {
  const std::optional<Encoding> encoding = EncodingOf(spec);
  CHECK(encoding.has_value());
  hexlane::EncodeValues(values, *encoding, out);
}

void DecodeValues(const TensorSpec& spec, std::span<const std::byte> bytes, std::span<float> out) {
  const std::optional<Encoding> encoding = EncodingOf(spec);
  CHECK(encoding.has_value());
  hexlane::DecodeValues(bytes, *encoding, out);
}

}  // namespace hexlane::qnn
