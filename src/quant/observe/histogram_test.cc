#include "quant/observe/histogram.h"

#include <gtest/gtest.h>

#include <numeric>

namespace hexlane {
namespace {

int64_t Total(const Histogram& histogram) {
  return std::accumulate(histogram.counts().begin(), histogram.counts().end(), int64_t{0});
}

TEST(Histogram, GrowingGivesWhatTheLastRangeWouldHaveGiven) {
  const std::vector<float> all = {0.001f, -0.002f, 0.0f, 0.3f, -0.7f, 5.5f, -63.9f, 64.0f};
  Histogram whole, grown;
  whole.Add(all);
  for (const float value : all) grown.Add({&value, 1});
  EXPECT_EQ(grown.Save(), whole.Save());
  EXPECT_EQ(whole.edge(Histogram::kBins), 128);  // 64 itself needs the next power of two
  EXPECT_EQ(Total(grown), 8);
}

TEST(Histogram, HoldsTheSmallestAndTheLargestNumbers) {
  Histogram histogram;
  histogram.Add(std::vector<float>{0, 1e-45f, -1e-45f});
  histogram.Add(std::vector<float>{3.4e38f, -3.4e38f});
  EXPECT_EQ(histogram.count(), 5);
  EXPECT_EQ(Total(histogram), 5);
  EXPECT_GT(histogram.edge(Histogram::kBins), 3.4e38);
}

TEST(Histogram, QuantilesAreWithinABin) {
  std::vector<float> values(1001);
  std::iota(values.begin(), values.end(), -500.0f);
  Histogram histogram;
  histogram.Add(values);
  for (const double share : {0.0, 0.01, 0.25, 0.5, 0.999, 1.0})
    EXPECT_NEAR(histogram.Quantile(share), -500 + 1000 * share, 1 + histogram.width());
}

TEST(Histogram, CountsWhatLiesOutside) {
  Histogram histogram;
  histogram.Add(std::vector<float>{-3, -1, 0, 1, 2, 2, 2, 3});
  EXPECT_EQ(histogram.ShareOutside(-3.5, 3.5), 0);
  EXPECT_EQ(histogram.ShareOutside(-1.5, 1.5), 5.0 / 8);
  EXPECT_EQ(Histogram().ShareOutside(0, 0), 0);
}

TEST(Histogram, SavedAndRestoredGoesOnAlike) {
  Histogram histogram;
  histogram.Add(std::vector<float>{-0.3f, 0.2f, 0.2f});
  Result<Histogram> restored = Histogram::Restore(Json::parse(histogram.Save().dump()));
  ASSERT_TRUE(restored) << restored.error().ToString();
  const std::vector<float> more = {9, -20};
  histogram.Add(more), restored->Add(more);
  EXPECT_EQ(restored->Save(), histogram.Save());
  EXPECT_EQ(restored->count(), 5);
}

TEST(Histogram, RefusesWhatIsNoHistogram) {
  for (const char* text :
       {R"({})", R"({"exponent": 1, "bins": [4096, 1]})", R"({"exponent": 1, "bins": [1]})",
        R"({"exponent": 1, "bins": [-1, 2]})", R"({"exponent": 999, "bins": []})"}) {
    const Result<Histogram> restored = Histogram::Restore(Json::parse(text));
    ASSERT_FALSE(restored) << text;
    EXPECT_EQ(restored.error().code, Code::kCorrupt);
  }
}

}  // namespace
}  // namespace hexlane
