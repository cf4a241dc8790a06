// The search for block scales in vectors; included by vector/*.cc.
#include <cmath>

#include "kernels/quantize/block_scale.h"
#include "kernels/vector/vec.h"

namespace hexlane {
namespace {

template <int kColumns>
struct ScaledBlock {
  static constexpr int kVectors = kColumns / kLanes;
  F32 w[kVectors];
  float max_level;
};

inline float Larger(float a, float b) { return a > b ? a : b; }
inline float ToThe2_5(float x) { return x * x * std::sqrt(x); }

// Σ |error|^2.5 of the weights rounded to integers times `scale`.
template <int kColumns>
float BlockError(const ScaledBlock<kColumns>& block, float scale) {
  const F32 inverse = Set(1 / scale);
  const F32 top = Set(block.max_level), bottom = Set(-block.max_level - 1);
  F32 sum = Set(0);
  for (const F32 w : block.w) {
    const F32 level = Max(Min(Round(Mul(w, inverse)), top), bottom);
    const F32 error = Abs(Sub(w, Mul(level, Set(scale))));
    sum = Fma(Mul(error, error), Sqrt(error), sum);
  }
  return Sum(sum);
}

// From the largest scale down, until cutting off the largest weight alone costs more than the best.
template <int kColumns>
uint8_t BestBlockScale(const ScaledBlock<kColumns>& block, float channel_scale) {
  F32 most = block.w[0], least = block.w[0];
  for (const F32 w : block.w) most = Max(most, w), least = Min(least, w);
  const float largest = Greatest(most), lowest = -Greatest(Sub(Set(0), least));
  const float holds = Larger(largest, -lowest) / (block.max_level * channel_scale);
  const float tried = std::ceil(1.5f * holds) + 1;
  const int first = tried < kMaxBlockScale ? static_cast<int>(tried) : kMaxBlockScale;
  int best = first;
  float error = BlockError(block, static_cast<float>(first) * channel_scale);
  for (int s = first - 1; s >= 1; --s) {
    const float scale = static_cast<float>(s) * channel_scale;
    const float above =
        Larger(largest - block.max_level * scale, -(block.max_level + 1) * scale - lowest);
    if (above > 0 && ToThe2_5(above) > error) break;
    const float now = BlockError(block, scale);
    if (now <= error) error = now, best = s;
  }
  return static_cast<uint8_t>(best);
}

template <int kColumns>
void BlockScalesOf(const BlockScalesCall& call) {
  const float* weights = call.weights;
  for (int64_t b = 0; b < call.blocks; ++b, weights += kColumns) {
    ScaledBlock<kColumns> block;
    for (int i = 0; i < block.kVectors; ++i) block.w[i] = Load(weights + i * kLanes);
    block.max_level = static_cast<float>(call.max_level);
    call.scales[b] = BestBlockScale(block, call.channel_scale);
  }
}

inline void BlockScalesBody(const BlockScalesCall& call) {
  switch (call.columns) {
    case 16: return BlockScalesOf<16>(call);
    case 32: return BlockScalesOf<32>(call);
    default: return BlockScalesOf<64>(call);
  }
}

}  // namespace
}  // namespace hexlane
