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
