#include "runtime/tokenizer/utf8.h"

#include <gtest/gtest.h>

namespace hexlane::tokenizer {
namespace {

TEST(Utf8, ReplacesMaximalSubparts) {  // Unicode 15, table 3-8 and 3-11
  EXPECT_EQ(ReplaceInvalidUtf8("\xC0\xAF\xE0\x80\xBF\xF0\x81\x82\x41"), "��������A");
  EXPECT_EQ(ReplaceInvalidUtf8("\xED\xA0\x80\xED\xBF\xBF\xED\xAF\x41"), "��������A");
  EXPECT_EQ(ReplaceInvalidUtf8("\xF4\x91\x92\x93\xFF\x41\x80\xBF\x42"), "�����A��B");
  EXPECT_EQ(ReplaceInvalidUtf8("\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41"), "����A");
}

TEST(Utf8, AcceptsExactlyTheScalarValues) {
  for (const char32_t c :
       {0x0, 0x7F, 0x80, 0x7FF, 0x800, 0xD7FF, 0xE000, 0xFFFF, 0x10000, 0x10FFFF}) {
    const std::string text = ToUtf8(c);
    const Utf8Char read = DecodeUtf8(text, 0);
    EXPECT_TRUE(read.valid);
    EXPECT_EQ(read.code_point, c);
    EXPECT_EQ(read.size, text.size());
    EXPECT_EQ(DecodeUtf8Before("x" + text, 1 + text.size()).code_point, c);
  }
  EXPECT_FALSE(IsUtf8("\xF4\x90\x80\x80"));
  EXPECT_FALSE(IsUtf8("\xED\xA0\x80"));
}

TEST(Utf8, FindsTheCutTail) {
  EXPECT_EQ(CutTail(""), 0u);
  EXPECT_EQ(CutTail("a"), 0u);
  EXPECT_EQ(CutTail("a\xF0"), 1u);
  EXPECT_EQ(CutTail("a\xF0\x9F\x98"), 3u);
  EXPECT_EQ(CutTail("a\xF0\x9F\x98\x80"), 0u);
  EXPECT_EQ(CutTail("a\xFF"), 0u);
  EXPECT_EQ(CutTail("\x80\x80\x80"), 0u);
  EXPECT_EQ(CutTail("\xE0\x80"), 0u);  // no character begins so
}

}  // namespace
}  // namespace hexlane::tokenizer
