// The search for block scales in vectors; included by vector/*.cc.
#include <cmath>

#include "kernels/quantize/block_scale.h"
#include "kernels/vector/vec.h"

namespace hexlane {
namespace {

struct ScaledBlock {
  static constexpr int kVectors = kScaledBlock / kLanes;
  F32 w[kVectors];
};

inline float Larger(float a, float b) { return a > b ? a : b; }
inline float ToThe2_5(float x) { return x * x * std::sqrt(x); }

// Σ |error|^2.5 of the weights rounded to -8..7 times `scale`.
inline float BlockError(const ScaledBlock& block, float scale) {
  const F32 inverse = Set(1 / scale);
  F32 sum = Set(0);
  for (const F32 w : block.w) {
    const F32 level = Max(Min(Round(Mul(w, inverse)), Set(7)), Set(-8));
    const F32 error = Abs(Sub(w, Mul(level, Set(scale))));
    sum = Fma(Mul(error, error), Sqrt(error), sum);
  }
  return Sum(sum);
}

// From the largest scale down, until cutting off the largest weight alone costs more than the best.
inline uint8_t BestBlockScale(const ScaledBlock& block, float channel_scale) {
  F32 most = block.w[0], least = block.w[0];
  for (const F32 w : block.w) most = Max(most, w), least = Min(least, w);
  const float largest = Greatest(most), lowest = -Greatest(Sub(Set(0), least));
  const float holds = Larger(largest, -lowest) / (7 * channel_scale);
  const float tried = std::ceil(1.5f * holds) + 1;
  const int first = tried < kMaxBlockScale ? static_cast<int>(tried) : kMaxBlockScale;
  int best = first;
  float error = BlockError(block, static_cast<float>(first) * channel_scale);
  for (int s = first - 1; s >= 1; --s) {
    const float scale = static_cast<float>(s) * channel_scale;
    const float above = Larger(largest - 7 * scale, -8 * scale - lowest);
    if (above > 0 && ToThe2_5(above) > error) break;
    const float now = BlockError(block, scale);
    if (now <= error) error = now, best = s;
  }
  return static_cast<uint8_t>(best);
}

inline void BlockScalesBody(const float* weights, int64_t blocks, float channel_scale,
                            uint8_t* scales) {
  for (int64_t b = 0; b < blocks; ++b, weights += kScaledBlock) {
    ScaledBlock block;
    for (int i = 0; i < ScaledBlock::kVectors; ++i) block.w[i] = Load(weights + i * kLanes);
    scales[b] = BestBlockScale(block, channel_scale);
  }
}

}  // namespace
}  // namespace hexlane
