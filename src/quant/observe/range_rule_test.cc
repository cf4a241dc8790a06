#include "quant/observe/range_rule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/file.h"

namespace hexlane {
namespace {

struct Search {
  RangeRule rule;
  RangeUse use;
  MinMax best;  // of all pairs of ends on the grid
  double loss, whole;
};
struct Case {
  std::string name;
  std::vector<float> x;
  std::map<std::string, std::vector<double>> percentiles;  // by rule: low, high
  std::vector<Search> searches;
};

// Made by tests/data/quant/make_observers.py, from the elements themselves.
std::vector<Case> Cases() {
  const Json document =
      Json::parse(*ReadTextFile(std::string(HEXLANE_TEST_DATA) + "/quant/observers.json"));
  std::vector<Case> cases;
  for (const Json& json : document["cases"]) {
    Case& test = cases.emplace_back(Case{json["name"], json["x"], {}, {}});
    for (const char* rule : {"percentile:99.9", "percentile:99"})
      test.percentiles[rule] = json[rule].get<std::vector<double>>();
    for (const Json& search : json["searches"])
      test.searches.push_back({*ParseRangeRule(search["rule"].get<std::string>()),
                               {search["bits"], search["symmetric"]},
                               {search["low"], search["high"]},
                               search["loss"],
                               search["whole"]});
  }
  return cases;
}

Histogram HistogramOf(std::span<const float> x) {
  Histogram histogram;
  while (!x.empty()) {  // as it comes, window by window
    const size_t part = std::min<size_t>(x.size(), 700);
    histogram.Add(x.first(part));
    x = x.subspan(part);
  }
  return histogram;
}

MinMax SeenIn(std::span<const float> x) { return *FindMinMax(x, "x"); }

// Σ (x - x̂)² over the elements themselves, by the encoding that the range becomes.
double ErrorOf(std::span<const float> x, const MinMax& range, const RangeUse& use) {
  const IntegerRange integers = FullRange(use.bits, use.symmetric);
  const Affine affine =
      use.symmetric ? FitSymmetric(range.max_abs(), integers) : FitAsymmetric(range, integers);
  double error = 0;
  for (const float value : x) {
    const int32_t q = QuantizeValue(value, affine, integers) - affine.zero_point;
    error += std::pow(value - q * static_cast<double>(affine.scale), 2);
  }
  return error;
}

TEST(RangeRule, PercentilesAreThoseOfTheElements) {
  const std::vector<Case> cases = Cases();
  ASSERT_EQ(cases.size(), 4u);
  for (const Case& test : cases) {
    const Histogram histogram = HistogramOf(test.x);
    for (const auto& [rule, want] : test.percentiles) {
      const MinMax got = ChooseRange(*ParseRangeRule(rule), {}, SeenIn(test.x), histogram);
      // The tails are sparse: between two elements NumPy interpolates, and so do we within a bin.
      std::vector<float> sorted = test.x;
      std::ranges::sort(sorted);
      const auto gap_at = [&](double value) {
        const auto above = std::ranges::lower_bound(sorted, static_cast<float>(value));
        return above == sorted.begin() ? 0.0 : *above - *(above - 1);
      };
      const auto tolerance = [&](double value) { return histogram.width() + gap_at(value); };
      EXPECT_NEAR(got.min, std::min(0.0, want[0]), tolerance(want[0])) << test.name << rule;
      EXPECT_NEAR(got.max, want[1], tolerance(want[1])) << test.name << rule;
    }
  }
}

// One end after the other need not find the best pair: it must come close.
TEST(RangeRule, TheLeastSquaredErrorIsAsLowAsTryingAllPairs) {
  int shortened = 0;
  for (const Case& test : Cases()) {
    const Histogram histogram = HistogramOf(test.x);
    for (const Search& search : test.searches) {
      if (search.rule.kind != RangeRule::Kind::kMse) continue;
      const MinMax got = ChooseRange(search.rule, search.use, SeenIn(test.x), histogram);
      EXPECT_LE(ErrorOf(test.x, got, search.use), 1.03 * search.loss)
          << test.name << search.use.bits << search.use.symmetric;
      EXPECT_TRUE(!search.use.symmetric || got.min == -got.max);
      shortened += search.loss < 0.8 * search.whole;
    }
  }
  EXPECT_GE(shortened, 5) << "the cases do not show that clipping pays";
}

// Elements are taken as spread evenly over their bins, which is nearly so where a bin is small.
TEST(RangeRule, TheSquaredErrorIsThatOfTheElements) {
  for (const Case& test : Cases()) {
    for (const Search& search : test.searches) {
      if (search.rule.kind != RangeRule::Kind::kMse) continue;
      const double got = SquaredError(HistogramOf(test.x), search.best, search.use);
      EXPECT_NEAR(got, search.loss, 0.08 * search.loss) << test.name << search.use.bits;
    }
  }
}

TEST(RangeRule, TheDivergenceIsThatOfItsDefinition) {
  for (const Case& test : Cases()) {
    const Histogram histogram = HistogramOf(test.x);
    for (const Search& search : test.searches) {
      if (search.rule.kind != RangeRule::Kind::kEntropy) continue;
      const int levels = search.use.levels();
      EXPECT_NEAR(Divergence(histogram, search.best, levels), search.loss, 1e-9) << test.name;
      MinMax whole = SeenIn(test.x);
      if (search.use.symmetric) whole = {-whole.max_abs(), whole.max_abs()};
      EXPECT_NEAR(Divergence(histogram, whole, levels), search.whole, 1e-9) << test.name;
    }
  }
}

TEST(RangeRule, TheLeastDivergenceGainsNearlyWhatTryingAllPairsGains) {
  for (const Case& test : Cases()) {
    const Histogram histogram = HistogramOf(test.x);
    for (const Search& search : test.searches) {
      if (search.rule.kind != RangeRule::Kind::kEntropy) continue;
      const MinMax got = ChooseRange(search.rule, search.use, SeenIn(test.x), histogram);
      const double gain = search.whole - Divergence(histogram, got, search.use.levels());
      EXPECT_GE(gain, 0.8 * (search.whole - search.loss) - 1e-9) << test.name;
    }
  }
}

// Sixteen bits have more levels than the histogram has bins: nothing is gained by clipping.
TEST(RangeRule, EntropyOfSixteenBitsKeepsTheWholeRange) {
  for (const Case& test : Cases()) {
    const MinMax seen = SeenIn(test.x);
    const RangeRule rule{.kind = RangeRule::Kind::kEntropy};
    const MinMax got = ChooseRange(rule, {.bits = 16}, seen, HistogramOf(test.x));
    EXPECT_EQ(got.min, seen.min) << test.name;
    EXPECT_EQ(got.max, seen.max) << test.name;
  }
}

TEST(RangeRule, WithoutElementsEveryRuleKeepsTheWholeRange) {
  for (const char* name : {"minmax", "percentile", "mse", "entropy"}) {
    const MinMax got = ChooseRange(*ParseRangeRule(name), {}, {-1, 2}, Histogram());
    EXPECT_EQ(got.min, -1) << name;
    EXPECT_EQ(got.max, 2) << name;
  }
}

TEST(RangeRule, AValueThatIsZeroEverywhereHasARange) {
  Histogram zeros;
  zeros.Add(std::vector<float>(10));
  for (const char* name : {"percentile", "mse", "entropy"}) {
    const MinMax got = ChooseRange(*ParseRangeRule(name), {.bits = 8}, {0, 0}, zeros);
    EXPECT_EQ(got.max_abs(), 0) << name;
  }
}

TEST(RangeRule, NamesAreReadAndWritten) {
  for (const char* name : {"minmax", "percentile:99.9", "mse", "entropy"})
    EXPECT_EQ(ParseRangeRule(name)->name(), name);
  EXPECT_EQ(ParseRangeRule("percentile")->name(), "percentile:99.99");
}

TEST(RangeRule, RefusesUnknownNamesAndPercentiles) {
  for (const char* name : {"", "max", "percentile:", "percentile:50", "percentile:101",
                           "percentile:nan", "percentile:99x", "mse:3"}) {
    const Result<RangeRule> rule = ParseRangeRule(name);
    ASSERT_FALSE(rule) << name;
    EXPECT_EQ(rule.error().code, Code::kUsage) << name;
    EXPECT_FALSE(rule.error().want.empty()) << name;
  }
}

}  // namespace
}  // namespace hexlane
