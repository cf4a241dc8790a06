// Little-endian loads from unaligned bytes, in forms that compilers vectorise.
#ifndef HEXLANE_FORMATS_DECODE_BITS_H_
#define HEXLANE_FORMATS_DECODE_BITS_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/dtype.h"

namespace hexlane {

static_assert(std::endian::native == std::endian::little, "files are little-endian");

template <typename T>
T Load(const std::byte* in) {
  T value;
  std::memcpy(&value, in, sizeof value);
  return value;
}

inline const uint8_t* U8(const std::byte* in) { return reinterpret_cast<const uint8_t*>(in); }

inline float RoundToF16(float value) { return F16ToF32(F32ToF16(value)); }
inline float LoadHalf(const std::byte* in) { return F16ToF32(Load<uint16_t>(in)); }

}  // namespace hexlane

#endif  // HEXLANE_FORMATS_DECODE_BITS_H_
