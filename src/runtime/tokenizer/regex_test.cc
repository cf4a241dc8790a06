#include "runtime/tokenizer/regex.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "runtime/tokenizer/split.h"

namespace hexlane::tokenizer {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> Matches(std::string_view pattern, std::string_view text) {
  const auto regex = Regex::Compile(pattern, "x");
  EXPECT_TRUE(regex) << regex.error().ToString();
  std::vector<std::string> found;
  if (!regex) return found;
  for (const Range& m : regex->FindAll(text))
    found.emplace_back(text.substr(m.begin, m.end - m.begin));
  return found;
}

Code CompileError(std::string_view pattern) {
  const auto regex = Regex::Compile(pattern, "x");
  EXPECT_FALSE(regex) << pattern;
  return regex ? Code::kUsage : regex.error().code;
}

// Expected values: Hugging Face tokenizers 0.23.3 (Oniguruma).
TEST(Regex, WhiteSpaceIsUnicodes) {
  EXPECT_THAT(Matches("\\s+", "a \u180Eb\u0085\u3000"), ElementsAre(" ", "\u0085\u3000"));
  EXPECT_THAT(Matches("[^\\s]+", "a \u180Eb\u0085"), ElementsAre("a", "\u180Eb"));
  EXPECT_THAT(Matches("[\\Sx]+", "a \u180Eb\u0085"), ElementsAre("a", "\u180Eb"));
}

TEST(Regex, WordsAndHexDigitsAreOnigurumas) {
  EXPECT_THAT(Matches("\\w+", "½ⓐ9_\u0301-\u200Cc"), ElementsAre("½ⓐ9_\u0301", "c"));
  EXPECT_THAT(Matches("\\h+", "xfF09 g"), ElementsAre("fF09"));
  EXPECT_THAT(Matches("\\bb", "½b b"), ElementsAre("b"));
}

TEST(Regex, IntervalsAreNotPossessive) {
  EXPECT_THAT(Matches("a{1,2}+", "aaaaa"), ElementsAre("aaaaa"));
  EXPECT_THAT(Matches("(?:ab){2}?c", "ababc c"), ElementsAre("ababc", "c"));
  EXPECT_THAT(Matches("a{,2}b", "aaab"), ElementsAre("aab"));
  EXPECT_THAT(Matches("a{x}", "a{x}"), ElementsAre("a{x}"));
  EXPECT_THAT(Matches("a++a", "aaa"), IsEmpty());
}

TEST(Regex, AnchorsAndOptionsAreRubys) {
  EXPECT_THAT(Matches("^a", "aa\na"), ElementsAre("a", "a"));
  EXPECT_THAT(Matches("(?m:a.b)", "a\nb"), ElementsAre("a\nb"));
  EXPECT_THAT(Matches("a.b", "a\nb"), IsEmpty());
  EXPECT_THAT(Matches("x(?i)b|c", "xB xC c"), ElementsAre("xB", "xC"));
  EXPECT_THAT(Matches("(?i:'S)", "'ſ"), ElementsAre("'ſ"));
}

TEST(Regex, ClassesIntersect) {
  EXPECT_THAT(Matches("[a-z&&[^b]]+", "abc"), ElementsAre("a", "c"));
  EXPECT_THAT(Matches("[^a-c&&b-z]+", "abcd"), ElementsAre("a", "d"));
  EXPECT_THAT(Matches("[]a]+", "a]b"), ElementsAre("a]"));
}

TEST(Regex, ScriptsLeaveOutTheirExtensions) {
  EXPECT_THAT(Matches("\\p{Han}+", "中、"), ElementsAre("中"));  // U+3001 extends Han
  EXPECT_THAT(Matches("\\p{^Letter}", "a1"), ElementsAre("1"));
}

TEST(Regex, EmptyMatchesAdvanceByCharacters) {
  const auto regex = Regex::Compile("x*", "x");
  EXPECT_THAT(regex->FindAll("é"), ElementsAre(Range{0, 0}, Range{2, 2}));
  EXPECT_THAT(regex->FindAll("xé"), ElementsAre(Range{0, 1}, Range{3, 3}));
}

TEST(Regex, RefusesWhatItCannotTranslate) {
  for (const char* pattern :
       {"[[:alpha:]]", "[a[b]]", "(?~a)", "(*FAIL)", "\\Q", "\\C", "(?x)a", "\\p{Nope}", "a**"})
    EXPECT_EQ(CompileError(pattern), Code::kUnsupported) << pattern;
  for (const char* pattern : {"(", ")", "[a", "\\", "\\p{L", "(?<n", "\\u12"})
    EXPECT_EQ(CompileError(pattern), Code::kCorrupt) << pattern;
  EXPECT_EQ(CompileError(std::string(1 << 17, 'a')), Code::kUnsupported);
}

TEST(Regex, ExponentialPatternsEnd) {
  EXPECT_THAT(Matches("(?:a+)+$b", std::string(3000, 'a') + "c"), IsEmpty());
  EXPECT_THAT(Matches("(?:(?:a|b|ab)+)+c", std::string(3000, 'a')), IsEmpty());
}

std::vector<Range> FindDashes(std::string_view text) {
  std::vector<Range> dashes;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '-') dashes.push_back({i, i + 1});
  }
  return dashes;
}

std::vector<std::string> Split(std::string_view text, SplitBehavior behavior, bool invert = false) {
  std::vector<std::string> parts;
  const std::vector<Segment> segments = Segments(text.size(), FindDashes(text), invert);
  for (const Range& r : ApplyBehavior(segments, behavior))
    parts.emplace_back(text.substr(r.begin, r.end - r.begin));
  return parts;
}

// The documented example of each behaviour.
TEST(Split, BehavesAsDocumented) {
  constexpr std::string_view kText = "the-final--countdown";
  EXPECT_THAT(Split(kText, SplitBehavior::kRemoved), ElementsAre("the", "final", "countdown"));
  EXPECT_THAT(Split(kText, SplitBehavior::kIsolated),
              ElementsAre("the", "-", "final", "-", "-", "countdown"));
  EXPECT_THAT(Split(kText, SplitBehavior::kMergedWithPrevious),
              ElementsAre("the-", "final-", "-", "countdown"));
  EXPECT_THAT(Split(kText, SplitBehavior::kMergedWithNext),
              ElementsAre("the", "-final", "-", "-countdown"));
  EXPECT_THAT(Split(kText, SplitBehavior::kContiguous),
              ElementsAre("the", "-", "final", "--", "countdown"));
  EXPECT_THAT(Split(kText, SplitBehavior::kRemoved, true), ElementsAre("-", "-", "-"));
}

}  // namespace
}  // namespace hexlane::tokenizer
