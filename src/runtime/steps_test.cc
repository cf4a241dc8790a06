#include "runtime/steps.h"

#include <gtest/gtest.h>

namespace hexlane {
namespace {

const std::vector<StageShape> kUsual = {{1, 512}, {128, 512}};
const std::vector<StageShape> kTwoContexts = {{1, 512}, {1, 2048}, {128, 512}, {128, 2048}};

std::string Next(const std::vector<StageShape>& stages, int64_t past_len, int64_t remaining) {
  const Step step = NextStep(stages, past_len, remaining, 8);
  return fmt::format("{} of {}", step.rows, step.stage.name());
}

// All steps of a prompt.
std::string Steps(const std::vector<StageShape>& stages, int64_t past_len, int64_t remaining) {
  std::string text;
  while (remaining > 0) {
    const Step step = NextStep(stages, past_len, remaining, 8);
    text += fmt::format("{} ", step.rows);
    past_len += step.rows;
    remaining -= step.rows;
  }
  return text;
}

TEST(NextStep, TakesFullChunksThenPadsOrStepsSingly) {
  EXPECT_EQ(Steps(kUsual, 0, 300), "128 128 44 ");
  EXPECT_EQ(Steps(kUsual, 0, 131), "128 1 1 1 ");
  EXPECT_EQ(Next(kUsual, 0, 8), "8 of r128c512");
  EXPECT_EQ(Next(kUsual, 0, 7), "1 of r1c512");
}

TEST(NextStep, PadsSoonerWhereUnusedRowsCostNothing) {
  EXPECT_EQ(NextStep(kUsual, 0, 2, WorthwhileRows({.name = "cpu"})).stage.rows, 128);
  EXPECT_EQ(NextStep(kUsual, 0, 1, WorthwhileRows({.name = "cpu"})).stage.rows, 1);
  EXPECT_EQ(NextStep(kUsual, 0, 2, WorthwhileRows({.name = "a", .soc = "SM8650"})).stage.rows, 1);
}

TEST(NextStep, StepsSinglyWhereTheLargeStageDoesNotReach) {
  EXPECT_EQ(Next(kUsual, 384, 128), "128 of r128c512");
  EXPECT_EQ(Next(kUsual, 385, 127), "1 of r1c512");
  EXPECT_EQ(Next(kUsual, 511, 1), "1 of r1c512");
}

TEST(NextStep, TakesTheSmallestContextThatHoldsThePast) {
  EXPECT_EQ(Next(kTwoContexts, 511, 1), "1 of r1c512");
  EXPECT_EQ(Next(kTwoContexts, 512, 1), "1 of r1c2048");
  EXPECT_EQ(Next(kTwoContexts, 384, 500), "128 of r128c512");
  EXPECT_EQ(Next(kTwoContexts, 385, 500), "128 of r128c2048");
}

TEST(NextStep, ManagesWithoutASingleRowStage) {
  EXPECT_EQ(Next({{4, 16}}, 12, 1), "1 of r4c16");
  EXPECT_EQ(Steps({{4, 16}}, 0, 6), "4 2 ");
}

TEST(Capacity, IsWhatTheLastStepReaches) {
  EXPECT_EQ(Capacity(kUsual), 512);
  EXPECT_EQ(Capacity(kTwoContexts), 2048);
  EXPECT_EQ(Capacity(std::vector<StageShape>{{4, 16}}), 13);
}

}  // namespace
}  // namespace hexlane
