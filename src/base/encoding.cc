#include "base/encoding.h"

#include <bit>
#include <cstring>
#include <limits>

#include "base/check.h"
#include "base/rounding.h"

namespace hexlane {
namespace {

struct LevelRange {
  double lo, hi;
};
LevelRange Levels(const Encoding& encoding) {
  const IntegerRange range = RangeOf(encoding.dtype);
  return {static_cast<double>(range.min) + encoding.offset,
          static_cast<double>(range.max) + encoding.offset};
}

template <typename Q>
void EncodeInteger(std::span<const float> values, const Encoding& encoding, std::byte* bytes) {
  const auto [lo, hi] = Levels(encoding);
  const double scale = encoding.scale;
  for (size_t i = 0; i < values.size(); ++i) {
    const auto level = static_cast<int32_t>(LimitAndRound(values[i] / scale, lo, hi));
    const Q q = static_cast<Q>(level - encoding.offset);
    std::memcpy(bytes + i * sizeof(Q), &q, sizeof(Q));
  }
}

template <typename Q>
void DecodeInteger(const std::byte* bytes, const Encoding& encoding, std::span<float> values) {
  for (size_t i = 0; i < values.size(); ++i) {
    Q q;
    std::memcpy(&q, bytes + i * sizeof(Q), sizeof(Q));
    values[i] = static_cast<float>(q + encoding.offset) * encoding.scale;
  }
}

void EncodeF16(std::span<const float> values, std::byte* bytes) {
  for (size_t i = 0; i < values.size(); ++i) {
    const uint16_t bits = F32ToF16(values[i]);
    std::memcpy(bytes + 2 * i, &bits, 2);
  }
}

void DecodeF16(const std::byte* bytes, std::span<float> values) {
  for (size_t i = 0; i < values.size(); ++i) {
    uint16_t bits;
    std::memcpy(&bits, bytes + 2 * i, 2);
    values[i] = F16ToF32(bits);
  }
}

// Checkpoints hold BF16; no backend does.
void DecodeBf16(const std::byte* bytes, std::span<float> values) {
  for (size_t i = 0; i < values.size(); ++i) {
    uint16_t bits = 0;
    std::memcpy(&bits, bytes + i * sizeof(bits), sizeof(bits));
    values[i] = Bf16ToF32(bits);
  }
}

// F16ToF32(F32ToF16(value)) without branches, so that the compiler makes vectors of it.
inline float RoundToF16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t magnitude = bits & 0x7fffffffu;
  const uint32_t normal = (magnitude + 0xfffu + ((magnitude >> 13) & 1)) & ~0x1fffu;
  // Below 2^-14 halves are multiples of 2^-24, the spacing of floats in [0.5, 1).
  const float subnormal = (std::bit_cast<float>(magnitude) + 0.5f) - 0.5f;
  uint32_t rounded = magnitude < 0x38800000u ? std::bit_cast<uint32_t>(subnormal) : normal;
  rounded = magnitude >= 0x477ff000u ? 0x7f800000u : rounded;  // rounds past 65504
  rounded = magnitude > 0x7f800000u ? magnitude : rounded;     // NaN
  return std::bit_cast<float>(rounded | (bits & 0x80000000u));
}

void FakeQuantizeInteger(std::span<float> values, const Encoding& encoding) {
  const auto [lo, hi] = Levels(encoding);
  const double scale = encoding.scale;
  const float factor = encoding.scale;
  for (float& value : values)
    value = static_cast<float>(LimitAndRound(value / scale, lo, hi)) * factor;
}

template <typename Q>
constexpr IntegerRange Limits() {
  return {std::numeric_limits<Q>::min(), std::numeric_limits<Q>::max()};
}

}  // namespace

IntegerRange RangeOf(DType dtype) {
  switch (dtype) {
    case DType::kU8: return Limits<uint8_t>();
    case DType::kI8: return Limits<int8_t>();
    case DType::kU16: return Limits<uint16_t>();
    case DType::kI16: return Limits<int16_t>();
    default: CHECK(!"an integer dtype of an Encoding"); return {};
  }
}

void EncodeValues(std::span<const float> values, const Encoding& encoding,
                  std::span<std::byte> bytes) {
  CHECK(bytes.size() == values.size() * DTypeBytes(encoding.dtype));
  switch (encoding.dtype) {
    case DType::kU8: return EncodeInteger<uint8_t>(values, encoding, bytes.data());
    case DType::kI8: return EncodeInteger<int8_t>(values, encoding, bytes.data());
    case DType::kU16: return EncodeInteger<uint16_t>(values, encoding, bytes.data());
    case DType::kI16: return EncodeInteger<int16_t>(values, encoding, bytes.data());
    case DType::kF16: return EncodeF16(values, bytes.data());
    case DType::kF32:
      if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
      return;
    default: CHECK(!"a dtype of an Encoding");
  }
}

void DecodeValues(std::span<const std::byte> bytes, const Encoding& encoding,
                  std::span<float> values) {
  CHECK(bytes.size() == values.size() * DTypeBytes(encoding.dtype));
  switch (encoding.dtype) {
    case DType::kU8: return DecodeInteger<uint8_t>(bytes.data(), encoding, values);
    case DType::kI8: return DecodeInteger<int8_t>(bytes.data(), encoding, values);
    case DType::kU16: return DecodeInteger<uint16_t>(bytes.data(), encoding, values);
    case DType::kI16: return DecodeInteger<int16_t>(bytes.data(), encoding, values);
    case DType::kF16: return DecodeF16(bytes.data(), values);
    case DType::kBF16: return DecodeBf16(bytes.data(), values);
    case DType::kF32:
      if (!values.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
      return;
    default: CHECK(!"a dtype of an Encoding");
  }
}

void FakeQuantize(std::span<float> values, const Encoding& encoding) {
  if (encoding.is_integer()) return FakeQuantizeInteger(values, encoding);
  CHECK(encoding.dtype == DType::kF16 || encoding.dtype == DType::kF32);
  if (encoding.dtype == DType::kF16)
    for (float& value : values) value = RoundToF16(value);
}

}  // namespace hexlane
