#include "models/rope_scaling.h"

#include <gmock/gmock.h>

#include <cmath>
#include <numbers>

namespace hexlane {
namespace {

using testing::FloatEq;
using testing::HasSubstr;

TEST(RopeScaling, PlainFrequenciesAreAGeometricSeries) {
  EXPECT_THAT(PlainInverseFrequencies(10000, 4), testing::ElementsAre(FloatEq(1), FloatEq(0.01f)));
}

TEST(RopeScaling, LinearDividesEveryFrequency) {
  const auto rope = ScaledFrequencies({{"type", "linear"}, {"factor", 2.0}}, 10000, 4, 256, "c");
  ASSERT_TRUE(rope);
  EXPECT_THAT(rope->inv_freq, testing::ElementsAre(FloatEq(0.5f), FloatEq(0.005f)));
}

TEST(RopeScaling, Llama3KeepsFastAndStretchesSlowDimensions) {
  const Json parameters = {{"rope_type", "llama3"},
                           {"factor", 8.0},
                           {"low_freq_factor", 1.0},
                           {"high_freq_factor", 4.0},
                           {"original_max_position_embeddings", 8192}};
  const auto rope = ScaledFrequencies(parameters, 500000, 128, 131072, "c");
  ASSERT_TRUE(rope);
  const std::vector<float> plain = PlainInverseFrequencies(500000, 128);
  EXPECT_FLOAT_EQ(rope->inv_freq.front(), plain.front());
  EXPECT_FLOAT_EQ(rope->inv_freq.back(), plain.back() / 8);
}

TEST(RopeScaling, ErrorsNameTheField) {
  const auto missing = ScaledFrequencies({{"type", "linear"}}, 10000, 4, 256, "config.json");
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().ToString(), HasSubstr("'factor' (at config.json)"));
  const auto unknown = ScaledFrequencies({{"rope_type", "longrope"}}, 10000, 4, 256, "config.json");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, Code::kUnsupported);
}

}  // namespace
}  // namespace hexlane
