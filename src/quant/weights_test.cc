#include "quant/weights.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <set>

#include "base/dtype.h"
#include "quant/golden_cases.h"

namespace hexlane {
namespace {

using golden::Case;

std::vector<float> Normal(size_t count, float deviation = 0.02f) {
  std::mt19937 random(7);
  std::normal_distribution<float> normal(0, deviation);
  std::vector<float> values(count);
  for (float& value : values) value = normal(random);
  return values;
}

// Σ |w - dequantised|^power.
double ErrorOf(const FloatMatrix& w, const QuantizedMatrix& m, double power) {
  std::vector<float> row(w.k);
  double sum = 0;
  for (int64_t n = 0; n < w.n; ++n) {
    m.DequantizeRow(n, row.data());
    for (int64_t k = 0; k < w.k; ++k)
      sum += std::pow(std::abs(static_cast<double>(row[k]) - w.row(n)[k]), power);
  }
  return sum;
}

template <typename T>
std::vector<int> Ints(const std::vector<T>& values) {
  return {values.begin(), values.end()};
}

void CheckTwoLevel(const Case& test) {
  const FloatMatrix w{test.x, test.json["shape"][0], test.json["shape"][1], test.name};
  const bool ceil = test.json.value("block_scale_mode", "round") == "ceil";
  const Result<QuantizedMatrix> m = QuantizeWeights(
      w, Scheme::kW4Lpbq32, {ceil ? BlockScaleRule::kCeil : BlockScaleRule::kRound});
  if (test.json.contains("error")) {
    ASSERT_FALSE(m) << test.name;
    EXPECT_EQ(m.error().code, Code::kInvalidInput);
    return;
  }
  ASSERT_TRUE(m) << test.name;
  EXPECT_EQ(m->scales, test.json["channel_scale_f32"].get<std::vector<float>>()) << test.name;
  EXPECT_EQ(Ints(m->block_scales), test.json["block_scale_f32scale"].get<std::vector<int>>())
      << test.name;
  EXPECT_EQ(Ints(m->q), test.json["q_f32scale"].get<std::vector<int>>()) << test.name;
}

TEST(Weights, TwoLevelGoldenCases) {
  const std::vector<Case> cases = golden::Load("block32_two_level_int4");
  EXPECT_EQ(cases.size(), 13u);
  for (const Case& test : cases) CheckTwoLevel(test);
}

TEST(Weights, ChannelGoldenCases) {
  int checked = 0;
  for (const Case& test : golden::Load("per_channel")) {
    if (test.name != "matrix6x16-axis0-symmetric-int8") continue;
    const Result<QuantizedMatrix> m =
        QuantizeWeights({test.x, 6, 16, test.name}, Scheme::kW8Channel);
    ASSERT_TRUE(m);
    EXPECT_EQ(m->scales, test.json["scale_f32"].get<std::vector<float>>());
    EXPECT_EQ(Ints(m->q), test.json["q_f32scale"].get<std::vector<int>>());
    ++checked;
  }
  EXPECT_EQ(checked, 1);
}

TEST(Weights, GoldenCasesOfEveryScheme) {
  std::set<Scheme> seen;
  for (const Case& test : golden::Load("schemes")) {
    const std::optional<Scheme> scheme = SchemeFromName(test.name);
    ASSERT_TRUE(scheme) << test.name;
    seen.insert(*scheme);
    const FloatMatrix w{test.x, test.json["shape"][0], test.json["shape"][1], test.name};
    const Result<QuantizedMatrix> m = QuantizeWeights(w, *scheme, {BlockScaleRule::kRound});
    ASSERT_TRUE(m) << test.name;
    EXPECT_EQ(Ints(m->q), test.json["q"].get<std::vector<int>>()) << test.name;
    EXPECT_EQ(m->scales, test.json["scales"].get<std::vector<float>>()) << test.name;
    EXPECT_EQ(Ints(m->block_scales), test.json["block_scales"].get<std::vector<int>>())
        << test.name;
    EXPECT_EQ(m->mins, test.json["mins"].get<std::vector<float>>()) << test.name;
  }
  EXPECT_EQ(seen.size(), AllSchemes().size());
}

TEST(Weights, BestBlockScalesBeatTheOtherRules) {
  const std::vector<float> values = Normal(64 * 256);
  const FloatMatrix w{values, 64, 256, "w"};
  for (const Scheme scheme : AllSchemes()) {
    if (Info(scheme).scale != ScaleKind::kInteger) continue;
    const auto error = [&](BlockScaleRule rule) {
      return ErrorOf(w, *QuantizeWeights(w, scheme, {rule}), 2.5);
    };
    EXPECT_LT(error(BlockScaleRule::kBest), error(BlockScaleRule::kRound)) << Info(scheme).name;
    EXPECT_LT(error(BlockScaleRule::kBest), error(BlockScaleRule::kCeil)) << Info(scheme).name;
  }
}

TEST(Weights, BlockScalesStayWithinWhatHtpAccepts) {
  std::vector<float> values = Normal(8 * 128);
  values[5] = 50;  // the other blocks of row 0 want a scale below 1
  for (const Scheme scheme : AllSchemes()) {
    if (Info(scheme).scale != ScaleKind::kInteger) continue;
    const int half = 1 << (Info(scheme).bits - 1);
    const Result<QuantizedMatrix> m = QuantizeWeights({values, 8, 128, "w"}, scheme);
    ASSERT_TRUE(m);
    for (int s : m->block_scales) EXPECT_TRUE(s >= 1 && s <= 16) << s;
    for (int q : m->q) EXPECT_TRUE(q >= -half && q < half) << q;
  }
}

// Half a step everywhere, except where float16 rounding of scale and minimum moves the grid.
TEST(Weights, RoundsToTheNearestLevelInEveryScheme) {
  const std::vector<float> values = Normal(16 * 72);  // the last block of a row is short
  const FloatMatrix w{values, 16, 72, "w"};
  for (const Scheme scheme : AllSchemes()) {
    if (Info(scheme).scale == ScaleKind::kInteger) continue;
    const Result<QuantizedMatrix> m = QuantizeWeights(w, scheme);
    ASSERT_TRUE(m);
    std::vector<float> row(w.k);
    for (int64_t n = 0; n < w.n; ++n) {
      m->DequantizeRow(n, row.data());
      for (int64_t k = 0; k < w.k; ++k) {
        const int64_t block = Info(scheme).block ? Info(scheme).block : w.k;
        const float step = m->scales[n * m->blocks() + k / block];
        EXPECT_LE(std::abs(row[k] - w.row(n)[k]), 0.51f * step) << Info(scheme).name;
      }
    }
  }
}

TEST(Weights, StoredFloat16ScalesSurvivePacking) {
  const std::vector<float> values = Normal(4 * 64);
  for (const Scheme scheme : AllSchemes()) {
    if (Info(scheme).block == 0 || Info(scheme).scale == ScaleKind::kInteger) continue;
    const Result<QuantizedMatrix> m = QuantizeWeights({values, 4, 64, "w"}, scheme);
    ASSERT_TRUE(m);
    for (float d : m->scales) EXPECT_EQ(d, F16ToF32(F32ToF16(d)));
    for (float x : m->mins) EXPECT_EQ(x, F16ToF32(F32ToF16(x)));
  }
}

TEST(Weights, ZerosStayZero) {
  const std::vector<float> zeros(2 * 64);
  for (const Scheme scheme : AllSchemes()) {
    const FloatMatrix w{zeros, 2, 64, "w"};
    const Result<QuantizedMatrix> m = QuantizeWeights(w, scheme);
    ASSERT_TRUE(m);
    EXPECT_EQ(ErrorOf(w, *m, 1), 0);
    for (float scale : m->scales) EXPECT_EQ(scale, 1);
  }
}

TEST(Weights, NamesTheWeightThatIsNotFinite) {
  std::vector<float> values = Normal(3 * 32);
  values[2 * 32 + 4] = INFINITY;
  const Result<QuantizedMatrix> m =
      QuantizeWeights({values, 3, 32, "layers.0.q_proj.weight"}, Scheme::kW8Channel);
  ASSERT_FALSE(m);
  EXPECT_EQ(m.error().where, "layers.0.q_proj.weight: row 2, column 4");
}

TEST(Weights, RefusesWhatFloat16ScalesCannotHold) {
  std::vector<float> values = Normal(32);
  values[9] = 1e6f;
  EXPECT_FALSE(QuantizeWeights({values, 1, 32, "w"}, Scheme::kW4Affine32));
  EXPECT_TRUE(QuantizeWeights({values, 1, 32, "w"}, Scheme::kW8Channel));
}

}  // namespace
}  // namespace hexlane
