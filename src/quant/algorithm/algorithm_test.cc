#include "quant/algorithm/algorithm.h"

#include <gtest/gtest.h>

namespace hexlane {
namespace {

TEST(Algorithm, StepsComeInAnyOrder) {
  const auto algorithm = ParseAlgorithm("gptq+rotate");
  ASSERT_TRUE(algorithm);
  EXPECT_EQ(*algorithm, (Algorithm{.rotate = true, .gptq = true}));
  EXPECT_EQ(algorithm->name(), "rotate+gptq");
  EXPECT_TRUE(algorithm->needs_moments());
}

TEST(Algorithm, RoundingToNearestIsNoStep) {
  EXPECT_EQ(*ParseAlgorithm("rtn"), Algorithm{});
  EXPECT_EQ(Algorithm{}.name(), "rtn");
  EXPECT_TRUE(Algorithm{}.is_nearest());
}

TEST(Algorithm, ListsWhatThereIs) {
  for (const std::string_view text : {"", "gptg", "gptq+", "rtn+gptq"}) {
    const auto algorithm = ParseAlgorithm(text);
    ASSERT_FALSE(algorithm) << text;
    EXPECT_EQ(algorithm.error().code, Code::kUsage);
    EXPECT_EQ(algorithm.error().want,
              "one of: rtn, rotate, smooth, awq, search, gptq, bias; several joined by '+'");
  }
}

}  // namespace
}  // namespace hexlane
