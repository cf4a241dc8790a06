// Row quantisation in vectors; included by vector/*.cc.
#include "kernels/matmul/quantized.h"
#include "kernels/vector/vec.h"

namespace hexlane {
namespace {

// One block of 32 values, of which `count` exist, to place `at`.
inline void QuantizeBlock(const float* x, int64_t count, const QuantizedRows& out, int64_t at) {
  constexpr int kVectors = kTileColumns / kLanes;
  F32 v[kVectors];
  F32 most = Set(0);
  for (int i = 0; i < kVectors; ++i) {
    const int64_t left = count - i * kLanes;
    v[i] = left > 0 ? LoadPart(x + i * kLanes, left) : Set(0);
    most = Max(most, Abs(v[i]));
  }
  const float max = Greatest(most);
  const F32 inverse = Set(max > 0 ? 127 / max : 0);
  int32_t sum = 0;
  for (int i = 0; i < kVectors; ++i)
    sum += StoreInt8(out.q + at * kTileColumns + i * kLanes, Mul(v[i], inverse));
  out.scales[at] = max / 127;
  out.sums[at] = sum;
  out.scaled_sums[at] = max / 127 * static_cast<float>(sum);
}

inline void QuantizeRowsBody(ConstRows x, const QuantizedRows& out, int64_t first_panel,
                             int64_t end_panel) {
  for (int64_t first = first_panel * kPanelRows; first < end_panel * kPanelRows;
       first += kPanelRows) {
    const int64_t height = out.rows - first < kPanelRows ? out.rows - first : kPanelRows;
    for (int64_t r = 0; r < height; ++r)
      for (int64_t b = 0; b < out.blocks; ++b)
        QuantizeBlock(x.row(first + r) + b * kTileColumns, x.dim - b * kTileColumns, out,
                      first * out.blocks + b * height + r);
  }
}

}  // namespace
}  // namespace hexlane
