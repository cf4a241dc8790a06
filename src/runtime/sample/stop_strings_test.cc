#include "runtime/sample/stop_strings.h"

#include <gtest/gtest.h>

namespace hexlane {
namespace {

// What comes out of `text` cut into pieces of `size` bytes, then "|" and the stop string if there
// was one.
std::string Match(std::vector<std::string> stops, std::string_view text, size_t size) {
  StopMatcher matcher(std::move(stops));
  std::string out;
  for (size_t i = 0; i < text.size(); i += size) out += matcher.Push(text.substr(i, size));
  const std::string stop = matcher.stopped() ? "|" + matcher.stop() : "";
  return out + matcher.Finish() + stop;
}

TEST(StopMatcher, FindsTheSameStopHoweverTheTextIsCut) {
  for (size_t size = 1; size <= 12; ++size) {
    SCOPED_TRACE(size);
    EXPECT_EQ(Match({"<end>"}, "ab<en<end>cd", size), "ab<en|<end>");
    EXPECT_EQ(Match({"\n\n", "User:"}, "one\nUse two\n\nUser:", size), "one\nUse two|\n\n");
    EXPECT_EQ(Match({"bcd", "abcde"}, "xabcdef", size), "xa|bcd");
    EXPECT_EQ(Match({"cd", "bcd"}, "abcd", size), "a|bcd");
    EXPECT_EQ(Match({"aab"}, "aaab", size), "a|aab");
    EXPECT_EQ(Match({"xyz"}, "nothing xy", size), "nothing xy");
    EXPECT_EQ(Match({}, "plain", size), "plain");
    EXPECT_EQ(Match({""}, "plain", size), "plain");
  }
}

TEST(StopMatcher, ShowsTextAsSoonAsItCannotBeAStop) {
  StopMatcher matcher({"</s>"});
  EXPECT_EQ(matcher.Push("Hello <"), "Hello ");
  EXPECT_EQ(matcher.Push("/"), "");
  EXPECT_EQ(matcher.Push("b>"), "</b>");
  EXPECT_EQ(matcher.Push("</s"), "");
  EXPECT_EQ(matcher.Push("> more"), "");
  EXPECT_TRUE(matcher.stopped());
  EXPECT_EQ(matcher.stop(), "</s>");
  EXPECT_EQ(matcher.Push("more"), "");
}

TEST(StopMatcher, StartsAnewAfterFinish) {
  StopMatcher matcher({"stop"});
  EXPECT_EQ(matcher.Push("a stop"), "a ");
  EXPECT_EQ(matcher.Finish(), "");
  EXPECT_FALSE(matcher.stopped());
  EXPECT_EQ(matcher.Push("b st"), "b ");
  EXPECT_EQ(matcher.Finish(), "st");
}

}  // namespace
}  // namespace hexlane
