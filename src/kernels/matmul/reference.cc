// The quantised product in plain C++: what the fast kernels are tested against, and the fallback.
#include <algorithm>
#include <cstring>

#include "kernels/pack/tile.h"
#include "kernels/registry.h"

namespace hexlane {
namespace {
// Σ X · q over columns begin … end - 1 of the tile, whose activations are at place `at`.
template <int kBits>
int32_t Dot(const std::byte* tile, int64_t lane, const QuantizedRows& x, int64_t at, int64_t begin,
            int64_t end, int offset) {
  int32_t sum = 0;
  for (int64_t i = begin; i < end; ++i) {
    const int64_t j = at * kTileColumns + i;
    sum += (LoadQuant<kBits>(tile, lane, i) - offset) * (x.low ? 256 * x.q[j] + x.low[j] : x.q[j]);
  }
  return sum;
}

template <Scheme S>
float OneOutput(const MatMulCall& call, int64_t row, int64_t column) {
  constexpr PackedFormat kFormat = FormatOf(S);
  constexpr int64_t kWidth = kTileColumns / kFormat.blocks_per_tile;  // of what has one scale
  const QuantizedRows& x = call.x;
  const int64_t first = row / kPanelRows * kPanelRows;
  const int64_t height = std::min(kPanelRows, x.rows - first), lane = column % kStripRows;
  const std::byte* strip = call.strips + column / kStripRows * call.layout.strip_bytes;
  const std::byte* scales = strip + call.layout.scales;
  float sum = 0;
  for (int64_t tile = 0; tile < x.blocks; ++tile) {
    const int64_t at = first * x.blocks + tile * height + row - first;
    BlockScale by;
    for (int64_t i = 0; i < kTileColumns; i += kWidth) {
      const int32_t dot = Dot<kFormat.bits>(strip + tile * call.layout.tile_bytes, lane, x, at, i,
                                            i + kWidth, kFormat.offset);
      const int64_t block = (tile * kFormat.blocks_per_tile + i / kWidth) / kFormat.tiles_per_block;
      if (kFormat.scale_bytes)
        by = LoadBlockScale(kFormat.scale, scales + block * kFormat.scale_bytes, lane);
      sum += static_cast<float>(dot) * by.scale * x.scales[at];
    }
    sum += by.min * x.scaled_sums[at];
  }
  if (!kFormat.channel_scales) return sum;
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

#define SCHEME(Name, text, bits, block, kind)                             \
  void MatMul##Name(const MatMulCall& call, int64_t first, int64_t end) { \
    MatMul<Scheme::k##Name>(call, first, end);                            \
  }
#include "base/schemes.def"
#undef SCHEME

}  // namespace hexlane
