#include "backends/qnn/driver/child.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <thread>
#include <vector>

#include "backends/qnn/driver/must.h"

namespace hexlane::qnn {
namespace {

TEST(Child, ReturnsPayloadProgressAndMemory) {
  double last = 0;
  ChildOptions options;
  options.progress = [&](double fraction, std::string_view) { last = fraction; };
  const ChildResult result = MUST(RunInChild(
      [](Child& child) -> Result<std::string> {
        child.Progress(0.5, "half");
        return std::string(300000, 'x');
      },
      options));
  EXPECT_EQ(result.payload.size(), 300000u);
  EXPECT_EQ(last, 0.5);
  EXPECT_GT(result.peak_rss_bytes, 1u << 20);
}

TEST(Child, CarriesErrorsWhole) {
  const auto result = RunInChild([](Child&) -> Result<std::string> {
    return Unsupported("no such op").At("layers.%d", 3).Remedy("none");
  });
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code, Code::kUnsupported);
  EXPECT_EQ(result.error().what, "no such op");
  EXPECT_EQ(result.error().where, "layers.%d");
}

TEST(Child, CrashNamesOpAndLayer) {
  const auto result = RunInChild(
      [](Child& child) -> Result<std::string> {
        child.activity().Set("adding", "MatMul", "layers.7.scores");
        raise(SIGFPE);
        return "";
      },
      {.task = "compiling part 1", .progress = {}});
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code, Code::kVendor);
  EXPECT_EQ(result.error().what,
            "compiling part 1 crashed (signal 8, Floating point exception) while adding MatMul "
            "'layers.7.scores'");
}

TEST(Child, IsEndedAtItsMemoryLimit) {
  const auto work = [](Child& child) -> Result<std::string> {
    child.activity().Set("adding", "Conv2d", "layers.3.down");
    std::vector<char> mine(96 << 20, 1);
    std::this_thread::sleep_for(std::chrono::seconds(20));
    return std::string(mine.data(), 1);
  };
  const auto result = RunInChild(work, {.task = "compiling x", .memory_limit = 64 << 20});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Code::kVendor);
  EXPECT_EQ(result.error().what,
            "compiling x took too much memory while adding Conv2d 'layers.3.down'");
  EXPECT_NE(result.error().remedy.find("--memory"), std::string::npos);
}

TEST(Child, EndingWithoutAResultIsAnError) {
  const auto result = RunInChild([](Child&) -> Result<std::string> { _exit(3); });
  ASSERT_FALSE(result.has_value());
  EXPECT_NE(result.error().what.find("ended with status 3"), std::string::npos);
}

}  // namespace
}  // namespace hexlane::qnn
