#include "compiler/journal.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/testing/scratch_folder.h"

namespace hexlane {
namespace {
namespace fs = std::filesystem;

class JournalTest : public testing::Test {
 protected:
  const ScratchFolder scratch_;
  const fs::path folder_ = scratch_.path() / "journal";
  const Journal journal_{folder_};
};

TEST_F(JournalTest, KnowsTheStepsThatWereRecorded) {
  EXPECT_FALSE(journal_.Find("unit-0"));
  ASSERT_TRUE(journal_.Record("unit-0", {{"x", 1.5f}}));
  ASSERT_TRUE(journal_.Save("state", std::string("a\0b\n", 4)));
  EXPECT_EQ(journal_.Find("unit-0"), Json({{"x", 1.5f}}));
  EXPECT_EQ(journal_.Load("state"), std::string("a\0b\n", 4));
  journal_.Discard("state");
  EXPECT_FALSE(journal_.Load("state"));
  journal_.Remove();
  EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(JournalTest, TakesADamagedRecordForAnUnfinishedStep) {
  ASSERT_TRUE(journal_.Record("unit-0", {{"x", 1}}));
  const fs::path file = folder_ / "steps" / "unit-0.json";
  std::ofstream(file, std::ios::in | std::ios::out).seekp(-2, std::ios::end) << '7';
  EXPECT_FALSE(journal_.Find("unit-0"));
  std::ofstream(file, std::ios::trunc).flush();
  EXPECT_FALSE(journal_.Find("unit-0"));
}

}  // namespace
}  // namespace hexlane
