#include "quant/algorithm/scale_search.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace hexlane {
namespace {

constexpr int64_t kRows = 12, kColumns = 96 + 16;  // the last block is short

struct Weights {
  std::vector<float> values, importance;
  FloatMatrix matrix() const { return {values, kRows, kColumns, "w"}; }
};

// Heavy tails; a few channels matter much more than the rest.
Weights Make() {
  std::mt19937 random(11);
  std::normal_distribution<float> normal;
  Weights made;
  for (int64_t i = 0; i < kRows * kColumns; ++i) {
    const float x = normal(random);
    made.values.push_back(0.02f * x * std::abs(x) + 0.01f);
  }
  for (int64_t i = 0; i < kColumns; ++i)
    made.importance.push_back(i % 16 == 3 ? 100.0f : 1 + std::abs(normal(random)));
  return made;
}

double ErrorOf(const Weights& w, const QuantizedMatrix& m) {
  double sum = 0;
  std::vector<float> row(kColumns);
  for (int64_t n = 0; n < kRows; ++n) {
    m.DequantizeRow(n, row.data());
    for (int64_t i = 0; i < kColumns; ++i) {
      const double off = static_cast<double>(row[i]) - w.values[n * kColumns + i];
      sum += w.importance[i] * off * off;
    }
  }
  return sum;
}

class ScaleSearch : public testing::TestWithParam<Scheme> {};

TEST_P(ScaleSearch, CostsLessThanTheRule) {
  const Weights w = Make();
  const auto rule = QuantizeWeights(w.matrix(), GetParam());
  const auto found = SearchScales(w.matrix(), GetParam(), w.importance);
  ASSERT_TRUE(rule && found);
  // Steps of 8 bits are so fine in a small block that clipping hardly pays.
  const double share = Info(GetParam()).bits == 8 ? 0.995 : 0.97;
  EXPECT_LT(ErrorOf(w, *found), share * ErrorOf(w, *rule));
}

// Weights that a scale represents exactly stay exact, whatever the importance.
TEST_P(ScaleSearch, KeepsWhatIsExact) {
  const IntegerRange integers = IntegersOf(GetParam());
  Weights w = Make();
  for (int64_t i = 0; i < kRows * kColumns; ++i) {
    const int64_t level = integers.min + i * 7 % (integers.max - integers.min + 1);
    w.values[i] = 0.125f * static_cast<float>(std::max<int64_t>(level, -integers.max));
  }
  const auto found = SearchScales(w.matrix(), GetParam(), w.importance);
  ASSERT_TRUE(found);
  EXPECT_LE(ErrorOf(w, *found), ErrorOf(w, *QuantizeWeights(w.matrix(), GetParam())));
}

TEST_P(ScaleSearch, NamesABadWeight) {
  Weights w = Make();
  w.values[2 * kColumns + 5] = NAN;
  const auto found = SearchScales(w.matrix(), GetParam(), w.importance);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().where, "w: row 2, column 5");
}

INSTANTIATE_TEST_SUITE_P(AllSchemes, ScaleSearch,
                         testing::ValuesIn(AllSchemes().begin(), AllSchemes().end()));

}  // namespace
}  // namespace hexlane
