#include "quant/weights.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "base/dtype.h"
#include "base/thread_pool.h"
#include "quant/encodings.h"

namespace hexlane {
namespace {

constexpr int kBlock = 32;
constexpr int kBlockScales = 16;  // integer block scales are 1..16

float MaxAbs(std::span<const float> values) {
  float largest = 0;
  for (float value : values) largest = std::max(largest, std::abs(value));
  return largest;
}

float RoundToF16(float value) { return F16ToF32(F32ToF16(value)); }

// A scale that may have rounded to 0, as one that can divide.
float Positive(float scale) { return scale > 0 ? scale : 1; }

// Columns that share a scale, in the row's block `b`; the last block may be short.
std::span<const float> Block(std::span<const float> row, int64_t b, const QuantizedMatrix& m) {
  const int64_t block = Info(m.scheme).block ? Info(m.scheme).block : m.k;
  return row.subspan(b * block, std::min(block, m.k - b * block));
}

void QuantizeSymmetricRow(std::span<const float> row, int64_t n, QuantizedMatrix& out) {
  const IntegerRange integers = RestrictedRange(Info(out.scheme).bits);
  const bool in_f16 = Info(out.scheme).block != 0;  // as GGUF's Q8_0 and kernels/pack store it
  int8_t* q = out.q.data() + n * out.k;
  for (int64_t b = 0; b < out.blocks(); ++b) {
    const std::span<const float> block = Block(row, b, out);
    Affine affine = FitSymmetric(MaxAbs(block), integers);
    if (in_f16) affine.scale = Positive(RoundToF16(affine.scale));
    out.scales[n * out.blocks() + b] = affine.scale;
    QuantizeValues(block, affine, integers, q + (block.data() - row.data()));
  }
}

// Σ |error|^2.5 of 32 weights rounded to -8..7 times `scale`. Written so that both loops become
// vector instructions.
float BlockError(const std::array<float, kBlock>& block, float scale) {
  constexpr float kRound = 0x1.8p23f;  // adding and taking it away rounds half to even
  const float inverse = 1 / scale;     // a tie rounded the other way costs the same
  std::array<float, kBlock> errors;
  for (int i = 0; i < kBlock; ++i) {
    float level = block[i] * inverse;
    level = level < 7.0f ? level : 7.0f;
    level = level > -8.0f ? level : -8.0f;
    const float error = ((level + kRound) - kRound) * scale - block[i];
    errors[i] = error * error * std::sqrt(std::abs(error));
  }
  for (int width = kBlock / 2; width > 0; width /= 2)
    for (int i = 0; i < width; ++i) errors[i] += errors[i + width];
  return errors[0];
}

// Error of the block's largest weight alone where it is cut off: never more than the block's.
float CutOffError(float largest, float lowest, float scale) {
  const float above = std::max(largest - 7 * scale, -8 * scale - lowest);
  return above > 0 ? above * above * std::sqrt(above) : 0;
}

// The scale with the least error, the smallest of several. From the largest down, until cutting off
// alone costs more.
int BestBlockScale(std::span<const float> block, float channel_scale) {
  std::array<float, kBlock> padded{};  // zeros have no error
  std::ranges::copy(block, padded.begin());
  const auto [lowest, largest] = std::ranges::minmax(block);
  int best = kBlockScales;
  float least = BlockError(padded, static_cast<float>(best) * channel_scale);
  for (int s = kBlockScales - 1; s >= 1; --s) {
    const float scale = static_cast<float>(s) * channel_scale;
    if (CutOffError(largest, lowest, scale) > least) break;
    const float error = BlockError(padded, scale);
    if (error <= least) least = error, best = s;
  }
  return best;
}

int ChooseBlockScale(std::span<const float> block, float channel_scale, BlockScaleRule rule) {
  if (rule == BlockScaleRule::kBest) return BestBlockScale(block, channel_scale);
  const double ratio = static_cast<double>(MaxAbs(block)) / 7 / channel_scale;
  const double scale =
      rule == BlockScaleRule::kRound ? std::nearbyint(ratio) : std::ceil(ratio - 1e-9);
  return static_cast<int>(std::clamp<double>(scale, 1, kBlockScales));
}

void QuantizeLpbqRow(std::span<const float> row, int64_t n, BlockScaleRule rule,
                     QuantizedMatrix& out) {
  const IntegerRange integers = FullRange(4, true);
  const float channel_scale = FitSymmetric(MaxAbs(row), {0, 7 * kBlockScales}).scale;
  out.scales[n] = channel_scale;
  int8_t* q = out.q.data() + n * out.k;
  for (int64_t b = 0; b < out.blocks(); ++b) {
    const std::span<const float> block = Block(row, b, out);
    const int s = ChooseBlockScale(block, channel_scale, rule);
    out.block_scales[n * out.blocks() + b] = static_cast<uint8_t>(s);
    const Affine affine{static_cast<float>(s) * channel_scale, 0};
    QuantizeValues(block, affine, integers, q + (block.data() - row.data()));
  }
}

void QuantizeAffineRow(std::span<const float> row, int64_t n, QuantizedMatrix& out) {
  int8_t* q = out.q.data() + n * out.k;
  for (int64_t b = 0; b < out.blocks(); ++b) {
    const std::span<const float> block = Block(row, b, out);
    const auto [least, most] = std::ranges::minmax(block);
    const float m = RoundToF16(least);
    const Affine affine{Positive(RoundToF16((most - m) / 15)), 0};
    out.scales[n * out.blocks() + b] = affine.scale;
    out.mins[n * out.blocks() + b] = m;
    std::array<float, kBlock> above{};
    std::ranges::transform(block, above.begin(), [m = m](float w) { return w - m; });
    QuantizeValues({above.data(), block.size()}, affine, {0, 15}, q + (block.data() - row.data()));
  }
}

QuantizedMatrix Allocate(const FloatMatrix& weights, Scheme scheme) {
  QuantizedMatrix out;
  out.scheme = scheme;
  out.n = weights.n;
  out.k = weights.k;
  out.q.resize(weights.n * weights.k);
  const ScaleKind kind = Info(scheme).scale;
  const int64_t blocks = weights.n * out.blocks();
  out.scales.resize(kind == ScaleKind::kInteger ? weights.n : blocks);
  if (kind == ScaleKind::kInteger) out.block_scales.resize(blocks);
  if (kind == ScaleKind::kAffine) out.mins.resize(blocks);
  return out;
}

void QuantizeRow(std::span<const float> row, int64_t n, BlockScaleRule rule, QuantizedMatrix& out) {
  switch (Info(out.scheme).scale) {
    case ScaleKind::kFloat: return QuantizeSymmetricRow(row, n, out);
    case ScaleKind::kInteger: return QuantizeLpbqRow(row, n, rule, out);
    case ScaleKind::kAffine: return QuantizeAffineRow(row, n, out);
    case ScaleKind::kNone: CHECK(!"a scheme with scales");
  }
}

// The largest |w| that a scheme can take: float16 holds up to 65504.
float Limit(Scheme scheme) {
  const bool in_f16 = Info(scheme).block != 0 && Info(scheme).scale != ScaleKind::kInteger;
  return in_f16 ? 65504 : std::numeric_limits<float>::max();
}

Result<void> CheckWeights(const FloatMatrix& weights, Scheme scheme) {
  const float limit = Limit(scheme);
  if (AllFinite(weights.values) && MaxAbs(weights.values) <= limit) return {};
  const auto bad =
      std::ranges::find_if(weights.values, [&](float w) { return !(std::abs(w) <= limit); });
  const int64_t i = bad - weights.values.begin();
  return InvalidInput("a weight cannot be quantised")
      .At("{}: row {}, column {}", weights.name, weights.first_row + i / weights.k, i % weights.k)
      .Want("a finite value up to {} for {}", limit, Info(scheme).name)
      .Got("{}", *bad);
}

}  // namespace

Result<QuantizedMatrix> QuantizeWeights(const FloatMatrix& weights, Scheme scheme,
                                        const WeightOptions& options) {
  CHECK(static_cast<int64_t>(weights.values.size()) == weights.n * weights.k);
  TRY(CheckWeights(weights, scheme));
  QuantizedMatrix out = Allocate(weights, scheme);
  const auto rows = [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) QuantizeRow(weights.row(i), i, options.block_scales, out);
  };
  if (options.pool)
    options.pool->ParallelFor(weights.n, 16, rows);
  else
    rows(0, weights.n);
  return out;
}

}  // namespace hexlane
