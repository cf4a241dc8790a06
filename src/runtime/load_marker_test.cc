#include "runtime/load_marker.h"

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/temp_dir.h"

namespace hexlane {
namespace {

class LoadMarkerTest : public ::testing::Test {
 protected:
  // A load in a process of its own that dies within it.
  void Die(const std::string& what) {
    const pid_t child = ::fork();
    if (child == 0) {
      const auto marker = LoadMarker::Begin(folder(), "x", what);
      ::_exit(marker ? 0 : 1);  // no destructors
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0);
  }
  std::filesystem::path folder() const { return dir_.path() / "cache"; }
  testing::TempDir dir_;
};

TEST_F(LoadMarkerTest, ALoadThatEndsLeavesNothing) {
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(LoadMarker::Begin(folder(), "x", "v1"));
  EXPECT_TRUE(std::filesystem::is_empty(folder()));
}

TEST_F(LoadMarkerTest, OneThatDiedIsNoticedEachTimeUntilSomethingChanges) {
  Die("v1");
  for (int i = 0; i < 2; ++i) {
    const auto again = LoadMarker::Begin(folder(), "x", "v1");
    ASSERT_FALSE(again);
    EXPECT_EQ(again.error().code, Code::kVendor);
    EXPECT_THAT(again.error().ToString(), ::testing::HasSubstr("did not come to its end"));
  }
  EXPECT_TRUE(LoadMarker::Begin(folder(), "y", "v1"));  // another part
  EXPECT_TRUE(LoadMarker::Begin(folder(), "x", "v2"));  // another version
  EXPECT_TRUE(LoadMarker::Begin(folder(), "x", "v1"));
}

TEST_F(LoadMarkerTest, WhoAsksForItTriesAgain) {
  Die("v1");
  EXPECT_TRUE(LoadMarker::Begin(folder(), "x", "v1", true));
  EXPECT_TRUE(LoadMarker::Begin(folder(), "x", "v1"));  // it came to its end
}

TEST_F(LoadMarkerTest, OneThatStillRunsIsNotADeadOne) {
  const auto running = LoadMarker::Begin(folder(), "x", "v1");
  ASSERT_TRUE(running);
  EXPECT_TRUE(LoadMarker::Begin(folder(), "x", "v1"));
}

TEST_F(LoadMarkerTest, AFolderThatCannotBeMadeIsNoFailure) {
  EXPECT_TRUE(LoadMarker::Begin("/proc/none", "x", "v1"));
  EXPECT_TRUE(LoadMarker::Begin("", "x", "v1"));
}

}  // namespace
}  // namespace hexlane
