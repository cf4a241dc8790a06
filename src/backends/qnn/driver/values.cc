#include "backends/qnn/driver/values.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "base/dtype.h"

namespace hexlane::qnn {
namespace {

PerTensor QuantOf(const TensorSpec& spec) {
  const auto* quant = std::get_if<PerTensor>(&spec.quant);
  return quant ? *quant : PerTensor{};
}

template <typename T>
void Quantise(PerTensor q, std::span<const float> values, std::byte* out) {
  constexpr double kLow = std::numeric_limits<T>::min(), kHigh = std::numeric_limits<T>::max();
  for (size_t i = 0; i < values.size(); ++i) {
    const double x = std::isnan(values[i]) ? 0 : values[i];
    const double code = std::nearbyint(x / q.scale) - q.offset;
    const T element = static_cast<T>(std::min(std::max(code, kLow), kHigh));
    std::memcpy(out + i * sizeof(T), &element, sizeof(T));
  }
}

template <typename T>
void Dequantise(PerTensor q, const std::byte* bytes, std::span<float> out) {
  for (size_t i = 0; i < out.size(); ++i) {
    T element;
    std::memcpy(&element, bytes + i * sizeof(T), sizeof(T));
    out[i] = static_cast<float>((static_cast<double>(element) + q.offset) * q.scale);
  }
}

}  // namespace

void EncodeValues(const TensorSpec& spec, std::span<const float> values, std::span<std::byte> out) {
  CHECK(out.size() == values.size() * ElementBytes(spec.type));
  const PerTensor q = QuantOf(spec);
  switch (spec.type) {
    case DataType::kF32: std::memcpy(out.data(), values.data(), out.size()); return;
    case DataType::kF16:
      for (size_t i = 0; i < values.size(); ++i) {
        const uint16_t half = F32ToF16(values[i]);
        std::memcpy(&out[2 * i], &half, 2);
      }
      return;
    case DataType::kI8:
    case DataType::kSFixed8: return Quantise<int8_t>(q, values, out.data());
    case DataType::kUFixed8:
    case DataType::kBool8: return Quantise<uint8_t>(q, values, out.data());
    case DataType::kSFixed16: return Quantise<int16_t>(q, values, out.data());
    case DataType::kUFixed16: return Quantise<uint16_t>(q, values, out.data());
    case DataType::kI32:
    case DataType::kSFixed32: return Quantise<int32_t>(q, values, out.data());
    case DataType::kU32: return Quantise<uint32_t>(q, values, out.data());
  }
}

void DecodeValues(const TensorSpec& spec, std::span<const std::byte> bytes, std::span<float> out) {
  CHECK(bytes.size() == out.size() * ElementBytes(spec.type));
  const PerTensor q = QuantOf(spec);
  switch (spec.type) {
    case DataType::kF32: std::memcpy(out.data(), bytes.data(), bytes.size()); return;
    case DataType::kF16:
      for (size_t i = 0; i < out.size(); ++i) {
        uint16_t half;
        std::memcpy(&half, &bytes[2 * i], 2);
        out[i] = F16ToF32(half);
      }
      return;
    case DataType::kI8:
    case DataType::kSFixed8: return Dequantise<int8_t>(q, bytes.data(), out);
    case DataType::kUFixed8:
    case DataType::kBool8: return Dequantise<uint8_t>(q, bytes.data(), out);
    case DataType::kSFixed16: return Dequantise<int16_t>(q, bytes.data(), out);
    case DataType::kUFixed16: return Dequantise<uint16_t>(q, bytes.data(), out);
    case DataType::kI32:
    case DataType::kSFixed32: return Dequantise<int32_t>(q, bytes.data(), out);
    case DataType::kU32: return Dequantise<uint32_t>(q, bytes.data(), out);
  }
}

}  // namespace hexlane::qnn
