// The integer scales of blocks (ScaleKind::kInteger), searched.
#ifndef HEXLANE_KERNELS_QUANTIZE_BLOCK_SCALE_H_
#define HEXLANE_KERNELS_QUANTIZE_BLOCK_SCALE_H_

#include <cstdint>

namespace hexlane {

inline constexpr int kMaxBlockScale = 16;  // scales are 1..16

struct BlockScalesCall {
  const float* weights = nullptr;  // blocks * columns of them
  int64_t blocks = 0;
  int columns = 32;   // of a block: 16, 32 or 64
  int max_level = 7;  // integers are -max_level - 1 .. max_level
  float channel_scale = 0;
  uint8_t* scales = nullptr;  // [blocks]
};

// For each block the scale s with the least Σ |w - s·c·q|^2.5, where c is the channel's scale and
// q = w / (s·c) rounded and limited; the smallest of several. Scales more than half as large again
// as what holds the block's largest weight are not tried.
using BlockScalesFn = void(const BlockScalesCall& call);

}  // namespace hexlane

#endif  // HEXLANE_KERNELS_QUANTIZE_BLOCK_SCALE_H_
