#include "base/lines.h"

#include <gtest/gtest.h>

#include <string>

namespace hexlane {
namespace {

std::string Numbered(std::string_view text) {
  std::string all;
  for (const TextLine& line : LinesOf(text))
    all += std::to_string(line.number) + "[" + std::string(line.text) + "]";
  return all;
}

TEST(Lines, AreNumberedAndBlankOnesLeftOut) {
  EXPECT_EQ(Numbered(""), "");
  EXPECT_EQ(Numbered("\n \t\n\r\n"), "");
  EXPECT_EQ(Numbered("one\n\n two \nthree"), "1[one]3[ two ]4[three]");
}

TEST(Lines, EndWithEitherKindOfEnd) { EXPECT_EQ(Numbered("a\r\nb\rc\n"), "1[a]2[b\rc]"); }

}  // namespace
}  // namespace hexlane
