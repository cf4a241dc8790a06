// The integer scales of 4-bit blocks (Scheme::kW4Lpbq32), searched.
#ifndef HEXLANE_KERNELS_QUANTIZE_BLOCK_SCALE_H_
#define HEXLANE_KERNELS_QUANTIZE_BLOCK_SCALE_H_

#include <cstdint>

namespace hexlane {

inline constexpr int kScaledBlock = 32;    // weights with one scale
inline constexpr int kMaxBlockScale = 16;  // scales are 1..16

// For each block of 32 weights the scale s with the least Σ |w - s·c·q|^2.5, where c is the
// channel's scale and q = w / (s·c) rounded and limited to -8..7; the smallest of several. Scales
// more than half as large again as what holds the block's largest weight are not tried.
using BlockScalesFn = void(const float* weights, int64_t blocks, float channel_scale,
                           uint8_t* scales);

}  // namespace hexlane

#endif  // HEXLANE_KERNELS_QUANTIZE_BLOCK_SCALE_H_
