#include "backends/qnn/driver/values.h"

#include <gtest/gtest.h>

#include <cmath>

#include "backends/qnn/driver/quant_params.h"

namespace hexlane::qnn {
namespace {

TEST(Values, FixedPointClampsAndRoundsHalfToEven) {
  const TensorSpec spec = {DataType::kUFixed8, {6}, PerTensor{0.5f, -128}};
  const float values[] = {0, 0.25f, 0.75f, -1000, 1000, NAN};
  const std::vector<std::byte> bytes = Encoded(spec, values);
  const std::vector<std::byte> want = {std::byte{128}, std::byte{128}, std::byte{130},
                                       std::byte{0},   std::byte{255}, std::byte{255}};
  EXPECT_EQ(bytes, want);
  std::vector<float> back(6);
  DecodeValues(spec, bytes, back);
  EXPECT_EQ(back, (std::vector<float>{0, 0, 1, -64, 63.5f, 63.5f}));
}

TEST(Quant, CountsMustFitTheShape) {
  const TensorSpec right = {DataType::kSFixed8, {2, 64}, PerBlock{{1, 32}, {4, {1, 0}}}};
  EXPECT_TRUE(CheckQuant(right, "w").has_value());
  const TensorSpec wrong = {DataType::kSFixed8, {2, 60}, PerBlock{{1, 32}, {4, {1, 0}}}};
  EXPECT_EQ(CheckQuant(wrong, "w").error().where, "w");
  const TensorSpec axis = {DataType::kSFixed8, {2, 64}, PerChannel{5, {{1, 0}, {1, 0}}}};
  EXPECT_FALSE(CheckQuant(axis, "w").has_value());
}

}  // namespace
}  // namespace hexlane::qnn
