#include "quant/weights.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "base/dtype.h"
#include "base/finite.h"
#include "kernels/registry.h"
#include "quant/encodings.h"

namespace hexlane {
namespace {

constexpr int kWidestBlock = 128;

float MaxAbs(std::span<const float> values) {
  float largest = 0;
  for (float value : values) largest = std::max(largest, std::abs(value));
  return largest;
}

// As GGUF's blocks and kernels/pack store them.
bool ScalesAreF16(Scheme scheme) {
  return Info(scheme).block != 0 && Info(scheme).scale != ScaleKind::kInteger;
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
  const IntegerRange integers = IntegersOf(out.scheme);
  int8_t* q = out.q.data() + n * out.k;
  for (int64_t b = 0; b < out.blocks(); ++b) {
    const std::span<const float> block = Block(row, b, out);
    Affine affine = FitSymmetric(MaxAbs(block), integers);
    affine.scale = Positive(StoredBlockScale(out.scheme, affine.scale));
    out.scales[n * out.blocks() + b] = affine.scale;
    QuantizeValues(block, affine, integers, q + (block.data() - row.data()));
  }
}

// By search; the last block of the row may be short.
void BestBlockScales(std::span<const float> row, BlockScalesCall call) {
  static const auto search = Best<KernelOp::kBlockScales>();
  const auto columns = static_cast<size_t>(call.columns), whole = row.size() / columns;
  call.weights = row.data();
  call.blocks = static_cast<int64_t>(whole);
  search(call);
  if (row.size() % columns == 0) return;
  std::array<float, kWidestBlock> padded{};  // zeros have no error
  std::ranges::copy(row.subspan(whole * columns), padded.begin());
  call.weights = padded.data();
  call.blocks = 1;
  call.scales += whole;
  search(call);
}

uint8_t BlockScaleOf(std::span<const float> block, const BlockScalesCall& call,
                     BlockScaleRule rule) {
  const double ratio = static_cast<double>(MaxAbs(block)) / call.max_level / call.channel_scale;
  const double scale =
      rule == BlockScaleRule::kRound ? std::nearbyint(ratio) : std::ceil(ratio - 1e-9);
  return static_cast<uint8_t>(std::clamp<double>(scale, 1, kMaxBlockScale));
}

void QuantizeLpbqRow(std::span<const float> row, int64_t n, BlockScaleRule rule,
                     QuantizedMatrix& out) {
  const IntegerRange integers = IntegersOf(out.scheme);
  const float channel_scale = FitSymmetric(MaxAbs(row), {0, integers.max * kMaxBlockScale}).scale;
  out.scales[n] = channel_scale;
  uint8_t* scales = out.block_scales.data() + n * out.blocks();
  const BlockScalesCall call{.columns = Info(out.scheme).block,
                             .max_level = integers.max,
                             .channel_scale = channel_scale,
                             .scales = scales};
  if (rule == BlockScaleRule::kBest) BestBlockScales(row, call);
  int8_t* q = out.q.data() + n * out.k;
  for (int64_t b = 0; b < out.blocks(); ++b) {
    const std::span<const float> block = Block(row, b, out);
    if (rule != BlockScaleRule::kBest) scales[b] = BlockScaleOf(block, call, rule);
    const Affine affine{static_cast<float>(scales[b]) * channel_scale, 0};
    QuantizeValues(block, affine, integers, q + (block.data() - row.data()));
  }
}

void QuantizeAffineRow(std::span<const float> row, int64_t n, QuantizedMatrix& out) {
  const IntegerRange integers = IntegersOf(out.scheme);
  int8_t* q = out.q.data() + n * out.k;
  for (int64_t b = 0; b < out.blocks(); ++b) {
    const std::span<const float> block = Block(row, b, out);
    const auto [least, most] = std::ranges::minmax(block);
    const float m = RoundToF16(least);
    const Affine affine{Positive(RoundToF16((most - m) / static_cast<float>(integers.max))), 0};
    out.scales[n * out.blocks() + b] = affine.scale;
    out.mins[n * out.blocks() + b] = m;
    std::array<float, kWidestBlock> above{};
    std::ranges::transform(block, above.begin(), [m = m](float w) { return w - m; });
    QuantizeValues({above.data(), block.size()}, affine, integers, q + (block.data() - row.data()));
  }
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
  return ScalesAreF16(scheme) ? 65504 : std::numeric_limits<float>::max();
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
  QuantizedMatrix out = QuantizedMatrix::Zero(scheme, weights.n, weights.k);
  for (int64_t i = 0; i < weights.n; ++i) QuantizeRow(weights.row(i), i, options.block_scales, out);
  return out;
}

IntegerRange IntegersOf(Scheme scheme) {
  switch (Info(scheme).scale) {
    case ScaleKind::kFloat: return RestrictedRange(Info(scheme).bits);
    case ScaleKind::kInteger: return FullRange(Info(scheme).bits, true);
    case ScaleKind::kAffine: return FullRange(Info(scheme).bits, false);
    case ScaleKind::kNone: break;
  }
  CheckFailed(__FILE__, __LINE__, "a scheme with scales");
}

float StoredBlockScale(Scheme scheme, float value) {
  return ScalesAreF16(scheme) ? RoundToF16(value) : value;
}

void RoundToScales(std::span<const float> row, int64_t n, QuantizedMatrix& m) {
  const IntegerRange integers = IntegersOf(m.scheme);
  for (int64_t i = 0; i < m.k; ++i) {
    const QuantizedMatrix::Affine by = m.AffineOf(n, i);
    m.q[n * m.k + i] = static_cast<int8_t>(QuantizeValue(row[i] - by.min, {by.scale, 0}, integers));
  }
}

}  // namespace hexlane
