// Plain element types: one element, one machine representation. How quantised values become bits is
// a QuantScheme (scheme.h).
#ifndef HEXLANE_BASE_DTYPE_H_
#define HEXLANE_BASE_DTYPE_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace hexlane {

enum class DType : uint8_t {
#define DTYPE(Name, text, bytes) k##Name,
#include "base/dtypes.def"
#undef DTYPE
};

std::string_view DTypeName(DType dtype);                    // "f32"
std::optional<DType> DTypeFromName(std::string_view name);  // inverse of DTypeName
size_t DTypeBytes(DType dtype);                             // bytes of one element

// IEEE 754 binary16 and bfloat16 <-> binary32; to 16 bits rounds to nearest, ties to even.
inline float F16ToF32(uint16_t bits);
uint16_t F32ToF16(float value);
inline float Bf16ToF32(uint16_t bits);
uint16_t F32ToBf16(float value);

// Without branches, so that compilers make vectors of loops over it. Exponent and mantissa, moved
// to their places in a binary32, make a number 2^112 too small (subnormals too); infinity and NaN
// get the full exponent.
inline float F16ToF32(uint16_t bits) {
  const uint32_t moved = static_cast<uint32_t>(bits & 0x7fff) << 13;
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16;
  const uint32_t finite = std::bit_cast<uint32_t>(std::bit_cast<float>(moved) * 0x1p112f);
  const uint32_t magnitude = moved >= 0x0f800000u ? (moved | 0x7f800000u) : finite;
  return std::bit_cast<float>(sign | magnitude);
}

inline float Bf16ToF32(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

}  // namespace hexlane

#endif  // HEXLANE_BASE_DTYPE_H_
