#include "runtime/tokenizer/unicode.h"

#include <gtest/gtest.h>

namespace hexlane::tokenizer {
namespace {

TEST(Unicode, NormalisesToTheFourForms) {
  EXPECT_EQ(NormalizeUnicode("é", NormalForm::kNfd), "e\u0301");
  EXPECT_EQ(NormalizeUnicode("e\u0301", NormalForm::kNfc), "é");
  EXPECT_EQ(NormalizeUnicode("ﬁ①", NormalForm::kNfkc), "fi1");
  EXPECT_EQ(NormalizeUnicode("ﬁ①", NormalForm::kNfc), "ﬁ①");
  EXPECT_EQ(NormalizeUnicode("각", NormalForm::kNfkd), "\u1100\u1161\u11A8");
  EXPECT_EQ(NormalizeUnicode("\u1100\u1161\u11A8", NormalForm::kNfc), "각");
  EXPECT_EQ(NormalizeUnicode(std::string("a\0b\u0301", 5), NormalForm::kNfd),
            std::string("a\0b\u0301", 5));
}

TEST(Unicode, OrdersMarksByClassStably) {
  EXPECT_EQ(NormalizeUnicode("a\u0301\u0323", NormalForm::kNfd), "a\u0323\u0301");
  EXPECT_EQ(NormalizeUnicode("a\u0301\u0300", NormalForm::kNfd), "a\u0301\u0300");
}

TEST(Unicode, MillionsOfMarksTakeNoTime) {
  std::string marks = "a";
  for (int i = 0; i < 500'000; ++i)
    marks += "\u0301\u0323";  // descending classes: quadratic in utf8proc
  EXPECT_EQ(NormalizeUnicode(marks, NormalForm::kNfd).size(), marks.size());
}

TEST(Unicode, LowersEachCharacter) { EXPECT_EQ(ToLower("ÀΣİ"), "àσi\u0307"); }

TEST(Unicode, ClassesFollowRust) {
  EXPECT_TRUE(IsWhitespace(0x85) && IsWhitespace(0x3000) && !IsWhitespace(0x180E) &&
              !IsWhitespace(0x200B));
  EXPECT_TRUE(IsNumeric(U'½') && IsNumeric(U'Ⅷ') && IsNumeric(U'٣') && !IsNumeric(U'a'));
  EXPECT_TRUE(IsPunctuation(U'$') && IsPunctuation(U'、') && !IsPunctuation(U'©'));
  EXPECT_TRUE(IsWord(U'_') && IsWord(U'中') && IsWord(0x301) && IsWord(0x200D) && !IsWord(U'½') &&
              !IsWord(U'-'));
}

}  // namespace
}  // namespace hexlane::tokenizer
