#include "compiler/partition.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hexlane {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<int> Cut(std::vector<size_t> costs, size_t limit) { return CutEvenly(costs, limit); }

TEST(CutEvenly, KeepsWhatFitsTogether) { EXPECT_THAT(Cut({3, 3, 3}, 9), ElementsAre(3)); }

TEST(CutEvenly, MakesAsFewGroupsAsTheLimitAllows) {
  EXPECT_THAT(Cut({3, 3, 3, 3, 3}, 7), ElementsAre(2, 2, 1));
  EXPECT_THAT(Cut({3, 3, 3}, 3), ElementsAre(1, 1, 1));
}

TEST(CutEvenly, MakesTheLargestGroupAsSmallAsPossible) {
  EXPECT_THAT(Cut({1, 1, 1, 1, 1, 1}, 5), ElementsAre(3, 3)) << "not 5 and 1";
  EXPECT_THAT(Cut({1, 1, 1, 1, 8}, 8), ElementsAre(4, 1));
  EXPECT_THAT(Cut({4, 1, 1, 1, 1}, 7), ElementsAre(1, 4));
}

TEST(CutEvenly, TakesCostsOfZero) {
  EXPECT_THAT(Cut({0, 0}, SIZE_MAX), ElementsAre(2));
  EXPECT_THAT(Cut({}, 5), IsEmpty());
}

}  // namespace
}  // namespace hexlane
