// Access to one float16 of a tile's scales.
#ifndef HEXLANE_KERNELS_PACK_F16_SCALES_H_
#define HEXLANE_KERNELS_PACK_F16_SCALES_H_

#include <cstring>

#include "base/dtype.h"

namespace hexlane {

inline void StoreF16(float value, std::byte* base, int64_t index) {
  const uint16_t bits = F32ToF16(value);
  std::memcpy(base + 2 * index, &bits, 2);
}
inline float LoadF16(const std::byte* base, int64_t index) {
  uint16_t bits;
  std::memcpy(&bits, base + 2 * index, 2);
  return F16ToF32(bits);
}

}  // namespace hexlane

#endif  // HEXLANE_KERNELS_PACK_F16_SCALES_H_
