// The quantised product in plain C++: what the fast kernels are tested against, and the fallback.
#include <algorithm>
#include <cstring>

#include "base/scheme.h"
#include "kernels/pack/f16_scales.h"
#include "kernels/pack/scheme_packer.h"
#include "kernels/registry.h"

namespace hexlane {
namespace {
template <Scheme S>
BlockScale ScaleAt(const std::byte* scales, int64_t lane) {
  switch (S) {
    case Scheme::kW8Block32: return {LoadF16(scales, lane), 0};
    case Scheme::kW4Lpbq32: return {static_cast<float>(scales[lane]), 0};
    case Scheme::kW4Affine32: return {LoadF16(scales, lane), LoadF16(scales, kStripRows + lane)};
    default: return {};
  }
}

// Σ X · wq over the block at place `at`; `quants` is the tile.
template <Scheme S>
int32_t BlockDot(const std::byte* quants, int64_t lane, const QuantizedRows& x, int64_t at) {
  constexpr bool kW4 = S == Scheme::kW4Lpbq32 || S == Scheme::kW4Affine32;
  constexpr int kOffset = S == Scheme::kW4Affine32 ? 0 : kW4 ? 8 : 128;
  int32_t sum = 0;
  for (int64_t i = 0; i < kTileColumns; ++i) {
    const int64_t group = i / 4;
    const auto byte = static_cast<int>(quants[(kW4 ? group % 4 : group) * 64 + lane * 4 + i % 4]);
    const int stored = !kW4 ? byte : group < 4 ? byte & 15 : byte >> 4;
    const int64_t j = at * kTileColumns + i;
    sum += (stored - kOffset) * (x.low ? 256 * x.q[j] + x.low[j] : x.q[j]);
  }
  return sum;
}

template <Scheme S>
float OneOutput(const MatMulCall& call, int64_t row, int64_t column) {
  const QuantizedRows& x = call.x;
  const int64_t first = row / kPanelRows * kPanelRows;
  const int64_t height = std::min(kPanelRows, x.rows - first), lane = column % kStripRows;
  const std::byte* strip = call.strips + column / kStripRows * call.layout.strip_bytes;
  float sum = 0;
  for (int64_t b = 0; b < x.blocks; ++b) {
    const int64_t at = first * x.blocks + b * height + row - first;
    const int32_t dot = BlockDot<S>(strip + b * call.layout.tile_bytes, lane, x, at);
    const auto [scale, min] =
        ScaleAt<S>(strip + call.layout.scales + b * call.layout.scale_bytes, lane);
    sum += static_cast<float>(dot) * scale * x.scales[at] + min * x.scaled_sums[at];
  }
  if (call.layout.channel == call.layout.strip_bytes) return sum;
  float channel;
  std::memcpy(&channel, strip + call.layout.channel + 4 * lane, 4);
  return sum * channel;
}

template <Scheme S>
void MatMul(const MatMulCall& call, int64_t first, int64_t end) {
  const int64_t last = std::min(call.n, end * kStripRows);
  for (int64_t row = 0; row < call.x.rows; ++row)
    for (int64_t c = first * kStripRows; c < last; ++c) {
      float& y = call.y[row * call.y_stride + c];
      const float sum = OneOutput<S>(call, row, c) + (call.bias ? call.bias[c] : 0);
      y = call.accumulate ? y + sum : sum;
    }
}
}  // namespace

void MatMulW8Channel(const MatMulCall& call, int64_t first, int64_t end) {
  MatMul<Scheme::kW8Channel>(call, first, end);
}
void MatMulW8Block32(const MatMulCall& call, int64_t first, int64_t end) {
  MatMul<Scheme::kW8Block32>(call, first, end);
}
void MatMulW4Lpbq32(const MatMulCall& call, int64_t first, int64_t end) {
  MatMul<Scheme::kW4Lpbq32>(call, first, end);
}
void MatMulW4Affine32(const MatMulCall& call, int64_t first, int64_t end) {
  MatMul<Scheme::kW4Affine32>(call, first, end);
}

}  // namespace hexlane
