#include "quant/observe/value_warnings.h"

#include <gtest/gtest.h>

#include "quant/encodings.h"

namespace hexlane {
namespace {

// A healthy value in [-1, 3] with an encoding made for it.
ValueReport Healthy() {
  return {.name = "layers.3.q",
          .encoding = AsymmetricEncoding({-1, 3}, DType::kU16),
          .seen = ValueReport::Seen{.min = -1, .max = 3, .mean_abs = 0.5, .count = 1000}};
}

// The one warning, which must name the value.
std::string OnlyWarning(const ValueReport& value) {
  const std::vector<std::string> warnings = ValueWarnings(value, "calibration");
  EXPECT_EQ(warnings.size(), 1u);
  if (warnings.size() != 1) return "";
  EXPECT_TRUE(warnings[0].starts_with("layers.3.q")) << warnings[0];
  return warnings[0];
}

bool Has(const std::string& text, std::string_view part) { return text.find(part) != text.npos; }

TEST(ValueWarnings, AHealthyValueHasNone) {
  EXPECT_TRUE(ValueWarnings(Healthy(), "calibration").empty());
  ValueReport uncalibrated = Healthy();
  uncalibrated.seen.reset();
  EXPECT_TRUE(ValueWarnings(uncalibrated, "calibration").empty());
}

TEST(ValueWarnings, NameAConstant) {
  ValueReport value = Healthy();
  value.seen->constant = true, value.seen->min = value.seen->max = 3;
  EXPECT_TRUE(Has(OnlyWarning(value), "is 3 for every token of calibration"));
}

TEST(ValueWarnings, NameARowThatIsTheSameForEveryToken) {
  ValueReport value = Healthy();
  value.seen->same_rows = true;
  EXPECT_TRUE(Has(OnlyWarning(value), "the same row for every token"));
}

TEST(ValueWarnings, NameSaturationAboveOnePercent) {
  ValueReport value = Healthy();
  value.seen->clipped = 0.01;
  EXPECT_TRUE(ValueWarnings(value, "calibration").empty());
  value.seen->clipped = 0.02;
  EXPECT_TRUE(Has(OnlyWarning(value), "2.0 % of its entries"));
}

TEST(ValueWarnings, NameAScaleThatIsFarOff) {
  ValueReport value = Healthy();
  value.encoding = AsymmetricEncoding({-0.1f, 0.3f}, DType::kU16);
  EXPECT_TRUE(Has(OnlyWarning(value), "far too small"));
  value.encoding = AsymmetricEncoding({-100, 300}, DType::kU16);
  EXPECT_TRUE(Has(OnlyWarning(value), "far too large"));
  value.encoding = {.dtype = DType::kF16};  // has no scale
  EXPECT_TRUE(ValueWarnings(value, "calibration").empty());
}

TEST(ValueWarnings, NameAStepThatOrdinaryElementsVanishIn) {
  ValueReport value = Healthy();
  value.encoding = AsymmetricEncoding({-1, 3}, DType::kU8);
  value.seen->mean_abs = 0.005;
  EXPECT_TRUE(Has(OnlyWarning(value), "most of it becomes 0"));
}

TEST(ValueWarnings, ScoresMayHaveAWideEncoding) {
  ValueReport scores = Healthy();
  scores.encoding = AsymmetricEncoding({-100, 3}, DType::kU16);
  scores.seen->extremes_only = true;
  EXPECT_TRUE(ValueWarnings(scores, "calibration").empty());
}

}  // namespace
}  // namespace hexlane
