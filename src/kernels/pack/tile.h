// Single quants and scales of the packed form, in plain C++; pack.h describes it. Not for files
// that are compiled for one instruction set.
#ifndef HEXLANE_KERNELS_PACK_TILE_H_
#define HEXLANE_KERNELS_PACK_TILE_H_

#include <cstring>

#include "base/check.h"
#include "base/dtype.h"
#include "kernels/pack/layout.h"

namespace hexlane {

// The stored quant (q + offset) of row `lane` (0..15) and `column` (0..31) of a tile.
template <int kBits>
int LoadQuant(const std::byte* tile, int64_t lane, int64_t column) {
  const int64_t group = column / 4;
  const auto byte = [&, at = lane * 4 + column % 4](int64_t vector) {
    return static_cast<int>(tile[vector * 64 + at]);
  };
  if constexpr (kBits == 8) {
    return byte(group);
  } else if constexpr (kBits == 4) {
    return (byte(group % 4) >> (group / 4 * 4)) & 15;
  } else {
    static_assert(kBits == 3);
    return ((byte(group / 4) >> (group % 4 * 2)) & 3) | ((byte(2) >> group) & 1) << 2;
  }
}

// Turns over the `bits` of it.
template <int kBits>
void FlipQuant(std::byte* tile, int64_t lane, int64_t column, int bits) {
  const int64_t group = column / 4;
  const auto flip = [&, at = lane * 4 + column % 4](int64_t vector, int mask) {
    tile[vector * 64 + at] ^= static_cast<std::byte>(mask);
  };
  if constexpr (kBits == 8) {
    flip(group, bits);
  } else if constexpr (kBits == 4) {
    flip(group % 4, bits << (group / 4 * 4));
  } else {
    static_assert(kBits == 3);
    flip(group / 4, (bits & 3) << (group % 4 * 2));
    flip(2, (bits >> 2) << group);
  }
}

// Calls body(integral_constant) with `bits` as a constant.
template <typename Body>
auto WithBits(int bits, const Body& body) {
  switch (bits) {
    case 3: return body(std::integral_constant<int, 3>());
    case 4: return body(std::integral_constant<int, 4>());
    case 8: return body(std::integral_constant<int, 8>());
    default: CheckFailed(__FILE__, __LINE__, "bits of a packed scheme");
  }
}

inline void StoreF16(float value, std::byte* base, int64_t index) {
  const uint16_t bits = F32ToF16(value);
  std::memcpy(base + 2 * index, &bits, 2);
}
inline float LoadF16(const std::byte* base, int64_t index) {
  uint16_t bits;
  std::memcpy(&bits, base + 2 * index, 2);
  return F16ToF32(bits);
}

// w = (scale of the block, times the channel's where there is one) · q + min
struct BlockScale {
  float scale = 1;
  float min = 0;
};

// Of row `lane`, from the scales of one block; not where blocks have none.
inline BlockScale LoadBlockScale(ScaleKind kind, const std::byte* scales, int64_t lane) {
  if (kind == ScaleKind::kInteger) return {static_cast<float>(scales[lane]), 0};
  const float d = LoadF16(scales, lane);
  return {d, kind == ScaleKind::kAffine ? LoadF16(scales, kStripRows + lane) : 0};
}

}  // namespace hexlane

#endif  // HEXLANE_KERNELS_PACK_TILE_H_
