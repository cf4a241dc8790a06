#include "target/target.h"

#include <gmock/gmock.h>

#include <set>

namespace hexlane {
namespace {

TEST(Targets, AreFoundWhateverTheCase) {
  const Result<const Target*> target = FindTarget("sm8650");
  ASSERT_TRUE(target);
  EXPECT_EQ((*target)->soc_id, 57);
  EXPECT_EQ((*target)->arch, HtpArch::kV75);
}

TEST(Targets, UnknownNamesListTheKnownOnes) {
  const Result<const Target*> target = FindTarget("SM9999");
  ASSERT_FALSE(target);
  EXPECT_EQ(target.error().code, Code::kUsage);
  EXPECT_THAT(target.error().want, testing::HasSubstr("SM8650 (Snapdragon 8 Gen 3)"));
}

TEST(Targets, HaveDistinctIds) {
  std::set<int> ids;
  for (const Target& target : AllTargets()) EXPECT_TRUE(ids.insert(target.soc_id).second);
}

}  // namespace
}  // namespace hexlane
