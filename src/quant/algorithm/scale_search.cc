#include "quant/algorithm/scale_search.h"

#include <algorithm>
#include <array>
#include <limits>

#include "base/check.h"
#include "kernels/quantize/block_scale.h"
#include "quant/encodings.h"

namespace hexlane {
namespace {

// Shares of the range that symmetric scales are tried for.
constexpr float kSmallestShare = 0.5f, kShareStep = 0.025f;
// Shares of the range that either end of an affine one is moved by.
constexpr float kInsets[] = {0, 0.02f, 0.04f, 0.07f, 0.1f, 0.15f};
// Shares of a row's range that its channel scale is tried for.
constexpr float kChannelShares[] = {1, 0.9f, 0.8f, 0.7f, 0.6f, 0.5f};

// Weights and what their errors count.
struct Weighted {
  std::span<const float> w, importance;

  Weighted Part(int64_t first, int64_t count) const {
    return {w.subspan(first, count), importance.subspan(first, count)};
  }
};

// Σ importance · (w - ŵ)². Lanes and rounding are written out so that it becomes vectors.
float ErrorOf(const Weighted& at, float scale, float min, IntegerRange integers) {
  constexpr float kRound = 0x1.8p23f;  // adding and taking it away rounds half to even
  constexpr size_t kLanes = 8;
  const float inverse = 1 / scale;
  const auto low = static_cast<float>(integers.min), high = static_cast<float>(integers.max);
  const auto error = [&](size_t i) {
    float level = (at.w[i] - min) * inverse;
    level = level < high ? level : high;
    level = level > low ? level : low;
    const float off = at.w[i] - min - ((level + kRound) - kRound) * scale;
    return at.importance[i] * off * off;
  };
  std::array<float, kLanes> sums{};
  size_t i = 0;
  for (; i + kLanes <= at.w.size(); i += kLanes)
    for (size_t lane = 0; lane < kLanes; ++lane) sums[lane] += error(i + lane);
  float sum = 0;
  for (; i < at.w.size(); ++i) sum += error(i);
  for (const float part : sums) sum += part;
  return sum;
}

class RowSearch {
 public:
  RowSearch(const Weighted& row, int64_t n, QuantizedMatrix& out)
      : row_(row), n_(n), out_(out), integers_(IntegersOf(out.scheme)) {}

  void Run() {
    switch (Info(out_.scheme).scale) {
      case ScaleKind::kFloat: return Symmetric();
      case ScaleKind::kInteger: return Channel();
      case ScaleKind::kAffine: return Affines();
      case ScaleKind::kNone: CHECK(!"a scheme with scales");
    }
  }

 private:
  Weighted Block(int64_t b) const {
    const int64_t block = Info(out_.scheme).block ? Info(out_.scheme).block : out_.k;
    return row_.Part(b * block, std::min(block, out_.k - b * block));
  }

  void Symmetric() {
    for (int64_t b = 0; b < out_.blocks(); ++b) {
      const Weighted block = Block(b);
      float& scale = out_.scales[n_ * out_.blocks() + b];
      const float whole = scale;  // of rounding to nearest
      float least = ErrorOf(block, whole, 0, integers_);
      for (float share = 1 - kShareStep; share >= kSmallestShare; share -= kShareStep) {
        const float tried = StoredBlockScale(out_.scheme, whole * share);
        const float error = ErrorOf(block, tried, 0, integers_);
        if (error < least) least = error, scale = tried;
      }
    }
  }

  void Channel() {
    const float whole = out_.scales[n_];
    std::vector<uint8_t> scales(static_cast<size_t>(out_.blocks()));
    float least = std::numeric_limits<float>::infinity();
    for (const float share : kChannelShares) {
      const float channel = whole * share;
      float error = 0;
      for (int64_t b = 0; b < out_.blocks(); ++b)
        error += BlockScale(Block(b), channel, scales[static_cast<size_t>(b)]);
      if (!(error < least)) continue;
      least = error;
      out_.scales[n_] = channel;
      std::ranges::copy(scales, out_.block_scales.begin() + n_ * out_.blocks());
    }
  }

  float BlockScale(const Weighted& block, float channel, uint8_t& best) const {
    float least = std::numeric_limits<float>::infinity();
    for (int s = kMaxBlockScale; s >= 1; --s) {
      const float error = ErrorOf(block, static_cast<float>(s) * channel, 0, integers_);
      if (error <= least) least = error, best = static_cast<uint8_t>(s);
    }
    return least;
  }

  void Affines() {
    for (int64_t b = 0; b < out_.blocks(); ++b) {
      const Weighted block = Block(b);
      const auto [lowest, highest] = std::ranges::minmax(block.w);
      const float range = highest - lowest;
      const int64_t index = n_ * out_.blocks() + b;
      float least = ErrorOf(block, out_.scales[index], out_.mins[index], integers_);
      for (const float below : kInsets) {
        const float min = StoredBlockScale(out_.scheme, lowest + below * range);
        for (const float above : kInsets) {
          const float scale = StoredBlockScale(
              out_.scheme, (highest - above * range - min) / static_cast<float>(integers_.max));
          if (!(scale > 0)) continue;
          const float error = ErrorOf(block, scale, min, integers_);
          if (error < least) least = error, out_.scales[index] = scale, out_.mins[index] = min;
        }
      }
    }
  }

  Weighted row_;
  int64_t n_;
  QuantizedMatrix& out_;
  IntegerRange integers_;
};

}  // namespace

Result<QuantizedMatrix> SearchScales(const FloatMatrix& weights, Scheme scheme,
                                     std::span<const float> importance) {
  CHECK(static_cast<int64_t>(importance.size()) == weights.k);
  QuantizedMatrix out = TRY(QuantizeWeights(weights, scheme));
  for (int64_t row = 0; row < weights.n; ++row) {
    RowSearch({weights.row(row), importance}, row, out).Run();
    RoundToScales(weights.row(row), row, out);
  }
  return out;
}

}  // namespace hexlane
