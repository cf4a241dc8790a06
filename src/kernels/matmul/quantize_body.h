// Row quantisation in vectors; included by vector/*.cc.
#include "kernels/matmul/quantized.h"
#include "kernels/vector/vec.h"

namespace hexlane {
namespace {

// Writes the integers nearest to v · inverse and returns their sum.
inline uint32_t Store8(const F32* v, float inverse, int8_t* q) {
  uint32_t sum = 0;  // unsigned, so that what NaN leaves may overflow
  for (int i = 0; i < kTileColumns / kLanes; ++i)
    sum += static_cast<uint32_t>(StoreInt8(q + i * kLanes, Mul(v[i], Set(inverse))));
  return sum;
}
inline uint32_t Store16(const F32* v, float inverse, int8_t* q, int8_t* low) {
  uint32_t sum = 0;
  for (int i = 0; i < kTileColumns / kLanes; ++i) {
    const F32 x = Round(Mul(v[i], Set(inverse)));
    const F32 high = Round(Mul(x, Set(1.0f / 256)));
    // ±128 becomes ±127: a 32512th of the largest value lost, and -128 has no negative in int8.
    const F32 rest = Max(Min(Fma(high, Set(-256), x), Set(127)), Set(-127));
    sum += 256 * static_cast<uint32_t>(StoreInt8(q + i * kLanes, high));
    sum += static_cast<uint32_t>(StoreInt8(low + i * kLanes, rest));
  }
  return sum;
}

// One block of 32 values, of which `count` exist, to place `at`.
inline void QuantizeBlock(const float* x, int64_t count, const QuantizedRows& out, int64_t at) {
  F32 v[kTileColumns / kLanes];
  F32 most = Set(0);
  for (int i = 0; i < kTileColumns / kLanes; ++i) {
    const int64_t left = count - i * kLanes;
    v[i] = left > 0 ? LoadPart(x + i * kLanes, left) : Set(0);
    most = Max(most, Abs(v[i]));
  }
  const float max = Greatest(most), steps = out.low ? 32512 : 127;
  const float inverse = max > 0 ? steps / max : 0;
  int8_t* q = out.q + at * kTileColumns;
  const auto sum = static_cast<int32_t>(
      out.low ? Store16(v, inverse, q, out.low + at * kTileColumns) : Store8(v, inverse, q));
  out.scales[at] = max / steps;
  out.sums[at] = sum;
  out.scaled_sums[at] = max / steps * static_cast<float>(sum);
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
