// Little-endian loads from unaligned bytes, and the two 16-bit floats, in forms that compilers
// vectorise.
#ifndef HEXLANE_FORMATS_DECODE_BITS_H_
#define HEXLANE_FORMATS_DECODE_BITS_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace hexlane {

static_assert(std::endian::native == std::endian::little, "files are little-endian");

template <typename T>
T Load(const std::byte* in) {
  T value;
  std::memcpy(&value, in, sizeof value);
  return value;
}

inline const uint8_t* U8(const std::byte* in) { return reinterpret_cast<const uint8_t*>(in); }

// binary16 to binary32 without branches: its exponent and mantissa, moved to their places in a
// binary32, make a number 2^112 too small (subnormals too); infinity and NaN get the full exponent.
inline float HalfBits(uint16_t half) {
  const uint32_t moved = static_cast<uint32_t>(half & 0x7fff) << 13;
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000) << 16;
  const uint32_t finite = std::bit_cast<uint32_t>(std::bit_cast<float>(moved) * 0x1p112f);
  const uint32_t magnitude = moved >= 0x0f800000u ? (moved | 0x7f800000u) : finite;
  return std::bit_cast<float>(sign | magnitude);
}
inline float LoadHalf(const std::byte* in) { return HalfBits(Load<uint16_t>(in)); }

}  // namespace hexlane

#endif  // HEXLANE_FORMATS_DECODE_BITS_H_
