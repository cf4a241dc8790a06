#include "quant/calibrate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "op/dims.h"
#include "quant/calibration_text.h"

namespace hexlane {
namespace {

// ids → rows of a table whose row i is (i, -2 i).
Graph Table(int64_t rows, float scale = 1) {
  std::vector<float> values;
  for (int64_t i = 0; i < rows; ++i) {
    values.push_back(scale * static_cast<float>(i));
    values.push_back(-2 * scale * static_cast<float>(i));
  }
  Graph graph("embed");
  const ValueId ids = graph.AddInput("ids", {kRows}, DType::kI32);
  const ValueId table = graph.AddConstant("table", Tensor::FromFloats(values, {rows, 2}));
  graph.MarkOutput(*graph.Add(OpKind::kEmbedding, "embed.out", {ids, table}));
  return graph;
}

TEST(Calibrate, WindowsAreWholeExceptForAShortText) {
  std::vector<int32_t> ids(100);
  std::iota(ids.begin(), ids.end(), 0);
  EXPECT_EQ(CalibrationWindows(ids, 30, 8).size(), 3u);
  EXPECT_EQ(CalibrationWindows(ids, 30, 2).size(), 2u);
  EXPECT_EQ(CalibrationWindows(ids, 30, 2)[1][0], 30);
  EXPECT_EQ(CalibrationWindows(ids, 300, 2).size(), 1u);
  EXPECT_EQ(CalibrationWindows(ids, 300, 2)[0].size(), 100u);
  EXPECT_TRUE(CalibrationWindows({}, 30, 2).empty());
}

TEST(Calibrate, RecordsTheRangeOverAllWindows) {
  Calibrator calibrator({{1, 3}, {2, 5}});
  ASSERT_TRUE(calibrator.Advance(Table(8), false));
  const ActivationRange& range = calibrator.ranges().at("embed.out");
  EXPECT_EQ(range.min, -10);
  EXPECT_EQ(range.max, 5);
  EXPECT_FALSE(range.constant());
}

TEST(Calibrate, ARangeWithZeroHoldsZero) {
  EXPECT_EQ((ActivationRange{2, 5}.with_zero().min), 0);
  EXPECT_EQ((ActivationRange{-5, -2}.with_zero().max), 0);
}

TEST(Calibrate, NoticesConstantValues) {
  Calibrator calibrator({{0, 0, 0}});
  ASSERT_TRUE(calibrator.Advance(Table(8), true));
  EXPECT_TRUE(calibrator.ranges().at("embed.out").constant());
}

// ids → rows of a table whose rows are all (1, 2).
Graph EqualRows() {
  Graph graph("embed");
  const ValueId ids = graph.AddInput("ids", {kRows}, DType::kI32);
  const std::vector<float> rows = {1, 2, 1, 2, 1, 2, 1, 2};
  const ValueId table = graph.AddConstant("table", Tensor::FromFloats(rows, {4, 2}));
  graph.MarkOutput(*graph.Add(OpKind::kEmbedding, "embed.out", {ids, table}));
  return graph;
}

TEST(Calibrate, NoticesRowsThatDoNotDependOnTheToken) {
  Calibrator stuck({{1, 3}, {2}});
  ASSERT_TRUE(stuck.Advance(EqualRows(), true));
  EXPECT_TRUE(stuck.ranges().at("embed.out").rows.same());
  Calibrator healthy({{1}, {2}});
  ASSERT_TRUE(healthy.Advance(Table(8), true));
  EXPECT_FALSE(healthy.ranges().at("embed.out").rows.same());
  Calibrator one_token({{2, 2}, {2}});
  ASSERT_TRUE(one_token.Advance(EqualRows(), true));
  EXPECT_FALSE(one_token.ranges().at("embed.out").rows.same()) << "all tokens were the same";
}

TEST(Calibrate, CountsElementsInAHistogram) {
  Calibrator calibrator({{1, 3}, {2, 5}});
  ASSERT_TRUE(calibrator.Advance(Table(8), false));
  const ActivationRange& range = calibrator.ranges().at("embed.out");
  EXPECT_EQ(range.histogram.count(), 8);
  EXPECT_EQ(range.ShareOutside({-10.5, 5.5}), 0);
  EXPECT_EQ(range.ShareOutside({-5, 2.5}), 4.0 / 8);  // 3, 5, -6, -10
}

// x → x + x, which is all that is known of it.
Graph Doubling(const std::string& in, const std::string& out) {
  Graph graph(out);
  const ValueId x = graph.AddInput(in, {kRows, 2}, DType::kF32);
  graph.MarkOutput(*graph.Add(OpKind::kAdd, out, {x, x}));
  return graph;
}

TEST(Calibrate, KeepsHistogramsOfTheLatestUnitOnly) {
  Calibrator calibrator({{1, 3}});
  ASSERT_TRUE(calibrator.Advance(Table(8), false));
  ASSERT_TRUE(calibrator.Advance(Doubling("embed.out", "a"), false));
  ASSERT_TRUE(calibrator.Advance(Doubling("a", "b"), true));
  EXPECT_EQ(calibrator.ranges().at("embed.out").histogram.count(), 0);
  EXPECT_GT(calibrator.ranges().at("a").histogram.count(), 0);
  EXPECT_GT(calibrator.ranges().at("b").histogram.count(), 0);
}

TEST(Calibrate, RestoredGoesOnAsIfNeverInterrupted) {
  const std::vector<std::vector<int32_t>> windows = {{1, 3}, {2, 5}};
  Calibrator whole(windows), first(windows), second(windows);
  ASSERT_TRUE(whole.Advance(Table(8), false));
  ASSERT_TRUE(first.Advance(Table(8), false));
  const Result<void> restored = second.Restore(first.Save());
  ASSERT_TRUE(restored) << restored.error().ToString();
  EXPECT_EQ(second.Save(), first.Save());
  ASSERT_TRUE(whole.Advance(Doubling("embed.out", "a"), false));
  ASSERT_TRUE(second.Advance(Doubling("embed.out", "a"), false));
  EXPECT_EQ(second.Save(), whole.Save());
}

TEST(Calibrate, NamesAValueThatIsNotFinite) {
  Calibrator calibrator({{1, 3}});
  const Result<void> done = calibrator.Advance(Table(8, 3e38f), false);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().where, "embed.out");
}

TEST(Calibrate, TheDefaultTextIsBuiltIn) {
  EXPECT_GT(DefaultCalibrationText().size(), 50000u);
  EXPECT_TRUE(DefaultCalibrationText().starts_with("Sir Walter Elliot"));
}

}  // namespace
}  // namespace hexlane
