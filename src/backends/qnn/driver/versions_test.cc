#include "backends/qnn/driver/versions.h"

#include <gmock/gmock.h>

namespace hexlane::qnn {
namespace {
using ::testing::HasSubstr;

constexpr abi::Version kHere = {5, 51, 2};

TEST(MadeWith, TheSameAndEarlierVersionsAreFine) {
  for (const char* made_with : {"5.51.2", "5.51.0", "5.40.9", ""})
    EXPECT_TRUE(CheckMadeWith(made_with, kHere)) << made_with;
}

TEST(MadeWith, ANewerBinaryIsRefusedWithBothVersions) {
  for (const char* made_with : {"5.51.3", "5.52.0", "6.0.0", "4.51.2"}) {
    const auto refused = CheckMadeWith(made_with, kHere);
    ASSERT_FALSE(refused) << made_with;
    EXPECT_EQ(refused.error().code, Code::kEnvironment);
    EXPECT_THAT(refused.error().ToString(), HasSubstr(made_with));
    EXPECT_THAT(refused.error().ToString(), HasSubstr("5.51.2"));
  }
}

TEST(MadeWith, WhatIsNoVersionIsDamage) {
  for (const char* made_with : {"5", "5.51", "5.51.", "a.b.c", "5.51.2x", "5..2"})
    EXPECT_EQ(CheckMadeWith(made_with, kHere).error().code, Code::kCorrupt) << made_with;
}

}  // namespace
}  // namespace hexlane::qnn
