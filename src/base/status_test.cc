#include "hexlane/status.h"

#include <gtest/gtest.h>

#include <memory>

namespace hexlane {
namespace {

TEST(Error, PrintsAllParts) {
  const Error error{Code::kCorrupt, "header is cut off", "a.gguf: offset 8",
                    "24 bytes",     "12 bytes",          "Download the file again"};
  EXPECT_EQ(error.ToString(),
            "header is cut off (at a.gguf: offset 8): want 24 bytes, got 12 bytes. "
            "Download the file again");
}

TEST(Error, LeavesEmptyPartsOut) {
  EXPECT_EQ((Error{Code::kIo, "disk full", "", "", "", ""}).ToString(), "disk full");
  EXPECT_EQ((Error{Code::kIo, "bad", "", "one", "", ""}).ToString(), "bad: want one");
  EXPECT_EQ((Error{Code::kIo, "bad", "x", "", "two", ""}).ToString(), "bad (at x): got two");
}

TEST(Error, EveryCodeHasItsOwnName) {
  std::vector<std::string_view> names;
  for (int code = 0; code <= static_cast<int>(Code::kCancelled); ++code)
    names.push_back(CodeName(static_cast<Code>(code)));
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::unique(names.begin(), names.end()), names.end());
  EXPECT_EQ(std::count(names.begin(), names.end(), "unknown"), 0);
}

TEST(Failure, BecomesAnyResult) {
  const auto fail = []() -> Result<int> {
    return Corrupt("field {}", "n")
        .At("{}: {}", "f", 7)
        .Want("{}", 1)
        .Got("{}", 2)
        .Remedy("try {}", 3);
  };
  const Result<int> result = fail();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Code::kCorrupt);
  EXPECT_EQ(result.error().ToString(), "field n (at f: 7): want 1, got 2. try 3");
}

Result<int> Half(int value) {
  if (value % 2 != 0) return InvalidInput("{} is odd", value);
  return value / 2;
}

Result<std::string> Quarter(int value) { return fmt::format("{}", TRY(Half(TRY(Half(value))))); }

TEST(Try, UnwrapsOrReturnsTheError) {
  EXPECT_EQ(*Quarter(12), "3");
  EXPECT_EQ(Quarter(6).error().what, "3 is odd");
}

TEST(Try, MovesWhatCannotBeCopied) {
  const auto make = []() -> Result<std::unique_ptr<int>> { return std::make_unique<int>(5); };
  const auto use = [&]() -> Result<int> { return *TRY(make()); };
  EXPECT_EQ(*use(), 5);
}

TEST(Try, ChecksAResultWithoutValue) {
  const auto check = [](bool good) -> Result<void> {
    if (!good) return Usage("no");
    return {};
  };
  const auto both = [&](bool a, bool b) -> Result<int> {
    TRY(check(a));
    TRY(check(b));
    return 1;
  };
  EXPECT_EQ(*both(true, true), 1);
  EXPECT_EQ(both(true, false).error().code, Code::kUsage);
}

TEST(Try, DoesNotMoveFromAVariable) {
  const Result<std::string> kept = std::string("text");
  const auto use = [&]() -> Result<std::string> { return TRY(Result<std::string>(kept)); };
  EXPECT_EQ(*use(), "text");
  EXPECT_EQ(*kept, "text");
}

}  // namespace
}  // namespace hexlane
