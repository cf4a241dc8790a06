#include "runtime/sample/stop_strings.h"

#include <gtest/gtest.h>

namespace hexlane {
namespace {

// The text that comes out of the pieces; "|" where it was matched.
std::string Through(const std::vector<std::string>& stop, const std::vector<std::string>& pieces) {
  StopStrings stops(stop);
  std::string out;
  for (const std::string& piece : pieces) stops.Push(piece, out);
  if (stops.matched()) return out + "|";
  stops.Finish(out);
  return out;
}

TEST(StopStrings, CutsBeforeTheStopString) {
  EXPECT_EQ(Through({"END"}, {"one END two"}), "one |");
  EXPECT_EQ(Through({"END"}, {"EN", "EN", "D", "x"}), "EN|");
  EXPECT_EQ(Through({"aab"}, {"a", "a", "a", "b"}), "a|");
}

TEST(StopStrings, GivesBackWhatWasHeldForNothing) {
  EXPECT_EQ(Through({"END"}, {"E", "N", "Z"}), "ENZ");
  EXPECT_EQ(Through({"END"}, {"the EN"}), "the EN");
}

TEST(StopStrings, TakesTheEarliestOfSeveral) {
  EXPECT_EQ(Through({"cd", "bc"}, {"abcd"}), "a|");
  EXPECT_EQ(Through({"abcd", "b"}, {"ab"}), "a|");
}

TEST(StopStrings, PassesEverythingWithoutStops) {
  EXPECT_EQ(Through({}, {"a", "b"}), "ab");
  EXPECT_EQ(Through({""}, {"a", "b"}), "ab");
}

TEST(StopStrings, CutsAlikeWhereverThePiecesEnd) {
  const std::string text = "xababacababx";
  const std::vector<std::string> stop = {"abac", "babx"};
  for (size_t cut = 0; cut <= text.size(); ++cut)
    EXPECT_EQ(Through(stop, {text.substr(0, cut), text.substr(cut)}), "xab|") << cut;
}

}  // namespace
}  // namespace hexlane
