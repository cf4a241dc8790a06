// Weight matrices to integers by round-to-nearest: no data, no search over the integers themselves.
#ifndef HEXLANE_QUANT_WEIGHTS_H_
#define HEXLANE_QUANT_WEIGHTS_H_

#include <cstdint>
#include <span>
#include <string_view>

#include "base/encoding.h"
#include "base/quantized_matrix.h"
#include "hexlane/status.h"

namespace hexlane {

// A row-major float matrix [n, k] and the name that errors give it.
struct FloatMatrix {
  std::span<const float> values;  // n * k of them
  int64_t n = 0;
  int64_t k = 0;
  std::string_view name;
  int64_t first_row = 0;  // row of the named matrix that row 0 is, where this is a part of it

  std::span<const float> row(int64_t i) const { return values.subspan(i * k, k); }
};

// How kInteger chooses the integer scale of a block, 1..16, once the channel scale is there.
enum class BlockScaleRule : uint8_t {
  kBest,   // the one with the smallest sum of |error|^2.5; see docs/quant.md
  kRound,  // rint(max|w| / t / channel scale): may clip
  kCeil,   // the next above: never clips
};

struct WeightOptions {
  BlockScaleRule block_scales = BlockScaleRule::kBest;
};

// `weights` in `scheme` (not kPlain). Scales are rounded to the type they are stored in before the
// integers are made; a group of zeros has scale 1. A last block may be short. With b bits and
// t = 2^(b-1) - 1:
//   kFloat    d = max|w| / t of the row (in float32) or block (float16), q = rint(w / d) in -t..t
//   kInteger  c = f32(max|w| / t / 16) of the row, s by the rule, q = rint(w / (s·c)) in -t-1..t
//   kAffine   m = f16(min w), d = f16((max w - m) / (2^b - 1)) of the block, q = rint((w - m) / d)
//             in 0..2^b - 1
// kInvalidInput naming matrix, row and column of a weight that is not finite, or whose scale or
// minimum float16 cannot hold.
Result<QuantizedMatrix> QuantizeWeights(const FloatMatrix& weights, Scheme scheme,
                                        const WeightOptions& options = {});

// The integers of a scheme.
IntegerRange IntegersOf(Scheme scheme);
// A scale or minimum of a block as the scheme stores it: float16, or as it is.
float StoredBlockScale(Scheme scheme, float value);
// The integers of row `n` of `m` anew: the nearest to `row` that its scales allow.
void RoundToScales(std::span<const float> row, int64_t n, QuantizedMatrix& m);

}  // namespace hexlane

#endif  // HEXLANE_QUANT_WEIGHTS_H_
