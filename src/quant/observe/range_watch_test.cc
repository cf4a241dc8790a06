#include "quant/observe/range_watch.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/json.h"
#include "op/dims.h"
#include "quant/encodings.h"

namespace hexlane {
namespace {

Value Q(DType dtype = DType::kU16) {
  Value value;
  value.name = "layers.3.q";
  value.shape = {kRows, 2};
  value.encoding =
      dtype == DType::kF16 ? Encoding{.dtype = DType::kF16} : AsymmetricEncoding({-1, 3}, dtype);
  return value;
}

SeenByName Calibrated() { return {{"layers.3.q", {.min = -1, .max = 3}}}; }

std::vector<std::string> WarningsAbout(const Value& value, const std::vector<float>& elements,
                                       const SeenByName& calibrated = Calibrated()) {
  RangeWatch watch(calibrated, true);
  watch.See(value, elements);
  return watch.Warnings();
}

TEST(RangeWatch, IsSilentAboutWhatCalibrationCovers) {
  EXPECT_TRUE(WarningsAbout(Q(), {-1, 3, 0.5f, 2}).empty());
  EXPECT_TRUE(WarningsAbout(Q(), {-1.3f, 3, 0.5f, 2}).size() == 1u)
      << "saturates, within the slack";
  EXPECT_TRUE(RangeWatch({}, true).Warnings().empty());
}

TEST(RangeWatch, NamesAValueThatLeavesWhatCalibrationSaw) {
  std::vector<float> elements(1000, 1.0f);
  elements[1] = 2, elements[7] = 5;
  const auto warnings = WarningsAbout(Q(), elements);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_EQ(
      warnings[0],
      "layers.3.q reaches 1 … 5, calibration saw -1 … 3 only: calibrate on text like this one");
  EXPECT_TRUE(WarningsAbout(Q(), elements, {}).empty()) << "nothing to compare with";
  EXPECT_TRUE(WarningsAbout(Q(DType::kF16), elements).empty()) << "float16 holds it";
}

TEST(RangeWatch, NamesSaturationConstantsAndWhatIsNoNumber) {
  EXPECT_NE(WarningsAbout(Q(), {3.1f, 0, 1, 2}).at(0).find("saturates: 25.0 %"), std::string::npos);
  EXPECT_NE(WarningsAbout(Q(), {2, 2, 2, 2}).at(0).find("is 2 for every token of this text"),
            std::string::npos);
  EXPECT_NE(WarningsAbout(Q(), {2, 1, 2, 1}).at(0).find("the same row"), std::string::npos);
  const float nan = std::nanf(""), infinite = std::numeric_limits<float>::infinity();
  EXPECT_EQ(WarningsAbout(Q(), {nan, infinite, 1, 2}).at(0),
            "layers.3.q is NaN or infinite in 2 entries");
  EXPECT_EQ(WarningsAbout(Q(DType::kF16), {nan, nan}).size(), 1u);
}

TEST(RangeWatch, NamesFloat16ThatOverflows) {
  const auto warnings = WarningsAbout(Q(DType::kF16), {1e5f, 1, 2, 3});
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find("overflows f16: it reaches 1 … 1e+05"), std::string::npos)
      << warnings[0];
}

TEST(RangeWatch, EqualTokensMayGiveEqualRows) {
  RangeWatch watch(Calibrated(), false);
  watch.See(Q(), std::vector<float>{2, 1, 2, 1});
  EXPECT_TRUE(watch.Warnings().empty());
}

TEST(RangeWatch, ListsNoMoreThanItIsAskedFor) {
  RangeWatch watch({}, true);
  for (int i = 0; i < 5; ++i) {
    Value value = Q();
    value.name = fmt::format("layers.{}.q", i);
    watch.See(value, std::vector<float>{2, 2, 2, 2});
  }
  const auto warnings = watch.Warnings(2);
  ASSERT_EQ(warnings.size(), 3u);
  EXPECT_EQ(warnings[2], "… and warnings about 3 more values");
}

TEST(RangeWatch, ReadsWhatCalibrationSawFromAReport) {
  const UnitReport unit{
      .unit = "layers.3",
      .values = {{.name = "q", .encoding = {}, .seen = ValueReport::Seen{.min = -1, .max = 3}},
                 {.name = "plain", .encoding = {}, .seen = {}}},
      .weights = {}};
  const SeenByName seen = SeenInCalibration({{"units", {ToJson(unit)}}});
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_EQ(seen.at("q").max, 3);
  EXPECT_TRUE(
      SeenInCalibration(Json::parse(R"({"units": [3, {"values": [{"name": 1}]}]})")).empty());
  EXPECT_TRUE(SeenInCalibration(Json()).empty());
}

}  // namespace
}  // namespace hexlane
