#include "compiler/compare.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace hexlane {
namespace {

const std::vector<float> kOnes = {1, 1, 1, 1};

TEST(Compare, EqualValuesAgreeCompletely) {
  EXPECT_DOUBLE_EQ(Cosine(kOnes, kOnes), 1);
  EXPECT_DOUBLE_EQ(MaxRelativeError(kOnes, kOnes), 0);
  EXPECT_DOUBLE_EQ(SnrDb(kOnes, kOnes), 999);
}

TEST(Compare, OrthogonalValuesHaveCosineZero) {
  EXPECT_DOUBLE_EQ(Cosine(std::vector<float>{1, -1, 1, -1}, kOnes), 0);
}

TEST(Compare, ZeroAgainstSomethingIsNoAgreement) {
  EXPECT_DOUBLE_EQ(Cosine(std::vector<float>(4), kOnes), 0);
  EXPECT_DOUBLE_EQ(Cosine(std::vector<float>(4), std::vector<float>(4)), 1);
}

TEST(Compare, NanFailsEveryThreshold) {
  std::vector<float> broken = kOnes;
  broken[2] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_FALSE(Cosine(broken, kOnes) >= 0);
  EXPECT_TRUE(std::isnan(MaxRelativeError(broken, kOnes)));
}

TEST(Compare, ErrorsAreRelativeToTheRangeOfTheReference) {
  const std::vector<float> reference = {0, 10}, values = {0, 9};
  EXPECT_DOUBLE_EQ(MaxRelativeError(values, reference), 0.1);
  EXPECT_DOUBLE_EQ(SnrDb(values, reference), 20);
}

TEST(Compare, Top1CountsRowsWithTheSameBest) {
  const std::vector<float> reference = {1, 2, 2, 1}, values = {1, 3, 0, 1};
  EXPECT_DOUBLE_EQ(Top1Agreement(values, reference, 2), 0.5);
}

}  // namespace
}  // namespace hexlane
