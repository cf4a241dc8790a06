#include "compiler/bit_budget.h"

#include <gmock/gmock.h>

namespace hexlane {
namespace {

using testing::ElementsAre;

// 100 values each; gains per bit: 8/400, then 1/800; 1/400; 6/100 (a small one).
const std::vector<Ladder> kLadders = {
    {{{400, 10}, {800, 2}, {1600, 1}}}, {{{400, 2}, {800, 1}}}, {{{100, 7}, {200, 1}}}};

TEST(BitBudget, UpgradesInTheOrderOfDamageRemovedForEachBit) {
  EXPECT_THAT(UpgradeOrder(kLadders), ElementsAre(2, 0, 1, 0));
}

TEST(BitBudget, TakesTheFirstUpgradesOfTheOrder) {
  const std::vector<size_t> order = UpgradeOrder(kLadders);
  EXPECT_THAT(StepsAfter(order, 0, 3), ElementsAre(0, 0, 0));
  EXPECT_THAT(StepsAfter(order, 2, 3), ElementsAre(1, 0, 1));
  EXPECT_THAT(StepsAfter(order, 4, 3), ElementsAre(2, 1, 1));
}

TEST(BitBudget, StaysWithinTheBudgetAndPassesOverWhatDoesNotFit) {
  EXPECT_THAT(StepsWithin(kLadders, 899), ElementsAre(0, 0, 0));
  EXPECT_THAT(StepsWithin(kLadders, 1000), ElementsAre(0, 0, 1));
  EXPECT_THAT(StepsWithin(kLadders, 1400), ElementsAre(1, 0, 1));
  EXPECT_THAT(StepsWithin(kLadders, 1e9), ElementsAre(2, 1, 1));
  EXPECT_DOUBLE_EQ(BitsAt(kLadders, StepsWithin(kLadders, 1400)), 1400);
  // The first of the order is too large, the next is not.
  const std::vector<Ladder> large = {{{{400, 90}, {800, 0}}}, {{{40, 2}, {80, 1}}}};
  EXPECT_THAT(StepsWithin(large, 500), ElementsAre(0, 1));
}

// By gain the two small ones come first, and then the large one does not fit any more.
TEST(BitBudget, ALargeItemIsWorthSeveralSmallOnes) {
  const std::vector<Ladder> ladders = {
      {{{400, 10}, {800, 0}}}, {{{100, 4}, {200, 0}}}, {{{100, 4}, {200, 0}}}};
  EXPECT_THAT(UpgradeOrder(ladders), ElementsAre(1, 2, 0));
  EXPECT_THAT(StepsWithin(ladders, 1000), ElementsAre(1, 0, 0));
  EXPECT_DOUBLE_EQ(DamageAt(ladders, StepsWithin(ladders, 1000)), 8);
  EXPECT_THAT(StepsWithin(ladders, 900), ElementsAre(0, 1, 1));
}

std::vector<size_t> FormsOf(const Ladder& ladder) {
  std::vector<size_t> forms;
  for (const Ladder::Step& step : ladder.steps) forms.push_back(step.form);
  return forms;
}

TEST(BitBudget, ALadderHasOnlyFormsThatPay) {
  // Of equal bits the better; none that costs more than a better one; none above the line between
  // its neighbours: half of 0 and half of 3 has 6 bits and damage 5, form 4 has 7.
  EXPECT_THAT(FormsOf(LadderOf({{4, 10, 0}, {5, 11, 1}, {4, 12, 2}, {8, 0, 3}, {6, 7, 4}})),
              ElementsAre(0, 3));
  EXPECT_THAT(FormsOf(LadderOf({{8, 0, 0}, {6, 2, 1}, {4, 10, 2}, {16, 0, 3}})),
              ElementsAre(2, 1, 0));
  EXPECT_THAT(FormsOf(LadderOf({{5, 0, 7}})), ElementsAre(7));
}

TEST(BitBudget, ALadderOfOneStepStaysWhereItIs) {
  const std::vector<Ladder> fixed = {{{{800, 1}}}};
  EXPECT_TRUE(UpgradeOrder(fixed).empty());
  EXPECT_THAT(StepsWithin(fixed, 0), ElementsAre(0));
}

}  // namespace
}  // namespace hexlane
