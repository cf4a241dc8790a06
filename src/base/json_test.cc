#include "base/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hexlane {
namespace {
using testing::HasSubstr;

std::string Nested(int levels) { return std::string(levels, '[') + std::string(levels, ']'); }

Json Parse(std::string_view text) { return *ParseJson(text, "test"); }

TEST(ParseJson, AcceptsTheDepthLimit) {
  EXPECT_TRUE(ParseJson(Nested(kMaxJsonDepth), "a"));
  EXPECT_TRUE(ParseJson(R"({"a": {"b": [{}]}})", "a"));
}

TEST(ParseJson, RefusesDeeperWithTheOffset) {
  const auto result = ParseJson("  " + Nested(kMaxJsonDepth + 1), "t.json");
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Code::kCorrupt);
  EXPECT_EQ(result.error().where, "t.json: offset 66");
}

TEST(ParseJson, SurvivesAMillionBrackets) {
  EXPECT_FALSE(ParseJson(std::string(1 << 20, '['), "a"));
  std::string objects;
  for (int i = 0; i < 100000; ++i) objects += "{\"a\":";
  EXPECT_FALSE(ParseJson(objects, "a"));
}

TEST(ParseJson, BracketsInStringsAreNotLevels) {
  EXPECT_TRUE(ParseJson('"' + std::string(1000, '[') + '"', "a"));
  EXPECT_TRUE(ParseJson(R"(["\"[[[", "\\", "]"])", "a"));
}

TEST(ParseJson, NamesTheOffsetOfTheFirstBadByte) {
  EXPECT_EQ(ParseJson(R"({"a": x})", "t.json").error().where, "t.json: offset 6");
  EXPECT_EQ(ParseJson("", "t.json").error().where, "t.json: offset 0");
  EXPECT_EQ(ParseJson("[1, 2", "t.json").error().where, "t.json: offset 5");
  EXPECT_EQ(ParseJson("[1] 2", "t.json").error().code, Code::kCorrupt);
}

TEST(ParseJson, RefusesInvalidUtf8) { EXPECT_FALSE(ParseJson("\"\xff\xfe\"", "a")); }

TEST(ParseJson, RefusesAZeroByteAfterTheValue) {
  const auto result = ParseJson(std::string_view("{}\0{", 4), "a");
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().where, "a: offset 2");
}

TEST(ParseJson, SaysThatANumberIsTooLarge) {
  const auto result = ParseJson("[1e999]", "t.json");
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().what, "not valid JSON");
  EXPECT_THAT(result.error().got, HasSubstr("1e999"));
}

TEST(ParseJson, DoesNotQuoteAHugeStringInItsError) {
  const auto result = ParseJson('"' + std::string(1 << 20, 'x') + '\n', "a");
  ASSERT_FALSE(result);
  EXPECT_LT(result.error().ToString().size(), 400u);
}

TEST(JsonField, ReadsEachType) {
  const Json json = Parse(R"({"b": true, "i": -7, "d": 0.5, "s": "text", "whole": 1e6})");
  EXPECT_EQ(*JsonField<bool>(json, "b", "f"), true);
  EXPECT_EQ(*JsonField<int64_t>(json, "i", "f"), -7);
  EXPECT_EQ(*JsonField<int64_t>(json, "whole", "f"), 1000000);
  EXPECT_EQ(*JsonField<double>(json, "d", "f"), 0.5);
  EXPECT_EQ(*JsonField<double>(json, "i", "f"), -7.0);
  EXPECT_EQ(*JsonField<std::string>(json, "s", "f"), "text");
}

TEST(JsonField, NamesTheFieldAndWhatWasThere) {
  const auto result = JsonField<int64_t>(Parse(R"({"n": "12"})"), "n", "config.json");
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().ToString(),
            "bad field 'n' (at config.json): want an integer, got \"12\"");
  EXPECT_THAT(JsonField<bool>(Parse("{}"), "n", "f").error().ToString(), HasSubstr("got nothing"));
}

TEST(JsonField, RefusesLossyConversions) {
  const Json json = Parse(R"({"half": 0.5, "huge": 18446744073709551615, "big": 1e18, "one": 1})");
  EXPECT_FALSE(JsonField<int64_t>(json, "half", "f"));
  EXPECT_FALSE(JsonField<int64_t>(json, "huge", "f"));
  EXPECT_FALSE(JsonField<int64_t>(json, "big", "f"));
  EXPECT_FALSE(JsonField<bool>(json, "one", "f"));
}

TEST(JsonField, AcceptsAnythingAsTheObject) {
  for (const char* text : {"null", "[1]", "3", "\"n\""})
    EXPECT_FALSE(JsonField<int64_t>(Parse(text), "n", "f")) << text;
}

TEST(JsonFieldOr, FallsBackOnlyWhenAbsentOrNull) {
  const Json json = Parse(R"({"null": null, "text": "x", "n": 3})");
  EXPECT_EQ(*JsonFieldOr<int64_t>(json, "absent", 9, "f"), 9);
  EXPECT_EQ(*JsonFieldOr<int64_t>(json, "null", 9, "f"), 9);
  EXPECT_EQ(*JsonFieldOr<int64_t>(json, "n", 9, "f"), 3);
  EXPECT_FALSE(JsonFieldOr<int64_t>(json, "text", 9, "f"));
}

TEST(JsonField, TellsObjectsFromArrays) {
  const Json json = Parse(R"({"o": {"x": 1}, "a": [1, 2]})");
  EXPECT_EQ((*JsonObject(json, "o", "f"))->size(), 1u);
  EXPECT_EQ((*JsonArray(json, "a", "f"))->size(), 2u);
  EXPECT_THAT(JsonObject(json, "a", "f").error().want, HasSubstr("object"));
  EXPECT_THAT(JsonArray(json, "o", "f").error().want, HasSubstr("array"));
  EXPECT_FALSE(JsonArray(json, "absent", "f"));
}

}  // namespace
}  // namespace hexlane
