#include "formats/gguf/gguf_tokenizer.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/json.h"

namespace hexlane {
namespace {

GgufVocabulary ByteLevel() {
  return {.model = "gpt2",
          .pre = "smollm",
          .tokens = {"<s>", "a", "b", "ab", "<tool>"},
          .types = {3, 1, 1, 1, 4},
          .merges = {"a b"},
          .bos_id = 0};
}

GgufVocabulary Spm() {
  return {.model = "llama",
          .tokens = {"<unk>", "<s>", "</s>", "▁", "a", "▁a", "b", "ab", "▁ab"},
          .scores = {0, 0, 0, -9, -8, -2, -7, -1, -3},
          .types = {2, 3, 3, 1, 1, 1, 1, 1, 1}};
}

Json Made(const GgufVocabulary& vocabulary) {
  const auto files = TokenizerFromGguf(vocabulary, "x.gguf");
  EXPECT_TRUE(files) << files.error().ToString();
  return files ? *ParseJson(files->tokenizer_json, "made") : Json::object();
}

Json MadeConfig(const GgufVocabulary& vocabulary) {
  return *ParseJson(TokenizerFromGguf(vocabulary, "x.gguf")->tokenizer_config_json, "made");
}

Error ErrorOf(const GgufVocabulary& vocabulary) {
  const auto files = TokenizerFromGguf(vocabulary, "x.gguf");
  EXPECT_FALSE(files);
  return files ? Error{} : files.error();
}

TEST(GgufTokenizer, KeepsVocabularyMergesAndAddedTokens) {
  const Json json = Made(ByteLevel());
  EXPECT_EQ(json["model"]["vocab"],
            Json({{"<s>", 0}, {"a", 1}, {"b", 2}, {"ab", 3}, {"<tool>", 4}}));
  EXPECT_EQ(json["model"]["merges"], Json::array({"a b"}));
  ASSERT_EQ(json["added_tokens"].size(), 2u);
  EXPECT_TRUE(json["added_tokens"][0]["special"].get<bool>());
  EXPECT_EQ(json["added_tokens"][1]["content"], "<tool>");
  EXPECT_FALSE(json["added_tokens"][1]["special"].get<bool>());
}

TEST(GgufTokenizer, PutsBosIntoTheTemplateWhenAsked) {
  GgufVocabulary v = ByteLevel();
  EXPECT_TRUE(Made(v)["post_processor"].is_null());
  v.add_bos = true;
  EXPECT_EQ(Made(v)["post_processor"]["special_tokens"]["<s>"]["ids"], Json::array({0}));
  v.bos_id.reset();
  EXPECT_EQ(ErrorOf(v).code, Code::kCorrupt);
}

TEST(GgufTokenizer, DerivesMergesFromScores) {
  const Json merges = Made(Spm())["model"]["merges"];
  EXPECT_EQ(merges.dump(), R"([["a","b"],["▁","a"],["▁","ab"],["▁a","b"]])");
}

TEST(GgufTokenizer, SpacePrefixCanBeOff) {
  GgufVocabulary v = Spm();
  EXPECT_EQ(Made(v)["normalizer"]["normalizers"][0]["type"], "Prepend");
  EXPECT_EQ(Made(v)["decoder"]["decoders"].size(), 4u);
  v.add_space_prefix = false;
  EXPECT_EQ(Made(v)["normalizer"]["normalizers"][0]["type"], "Replace");
  EXPECT_EQ(Made(v)["decoder"]["decoders"].size(), 3u);
}

TEST(GgufTokenizer, WritesTheConfig) {
  GgufVocabulary v = Spm();
  v.chat_template = "{{ x }}";
  v.context_length = 2048;
  const Json config = MadeConfig(v);
  EXPECT_EQ(config["bos_token"], "<s>");
  EXPECT_EQ(config["eos_token"], "</s>");
  EXPECT_EQ(config["add_bos_token"], true);
  EXPECT_EQ(config["chat_template"], "{{ x }}");
  EXPECT_EQ(config["model_max_length"], 2048);
}

TEST(GgufTokenizer, NamesWhatItDoesNotKnow) {
  GgufVocabulary v = ByteLevel();
  v.pre = "klingon";
  EXPECT_EQ(ErrorOf(v).code, Code::kUnsupported);
  EXPECT_NE(ErrorOf(v).what.find("klingon"), std::string::npos);
  v.model = "bert";
  EXPECT_EQ(ErrorOf(v).code, Code::kUnsupported);
  EXPECT_NE(ErrorOf(v).where.find("x.gguf"), std::string::npos);
}

TEST(GgufTokenizer, RefusesVocabulariesThatContradictThemselves) {
  const auto code = [](auto change) {
    GgufVocabulary v = Spm();
    change(v);
    return ErrorOf(v).code;
  };
  EXPECT_EQ(code([](auto& v) { v.tokens.clear(); }), Code::kCorrupt);
  EXPECT_EQ(code([](auto& v) { v.scores.pop_back(); }), Code::kCorrupt);
  EXPECT_EQ(code([](auto& v) { v.types.pop_back(); }), Code::kCorrupt);
  EXPECT_EQ(code([](auto& v) { v.scores[4] = std::nanf(""); }), Code::kCorrupt);
  EXPECT_EQ(code([](auto& v) { v.eos_id = 9; }), Code::kCorrupt);
  EXPECT_EQ(code([](auto& v) { v.pad_id = -1; }), Code::kCorrupt);
  EXPECT_EQ(code([](auto& v) { v.tokens[5] = "a"; }), Code::kCorrupt);
  EXPECT_EQ(code([](auto& v) { v.tokens[5] = "\xFF"; }), Code::kCorrupt);
  EXPECT_EQ(code([](auto& v) { v.chat_template = "\xFF"; }), Code::kCorrupt);
}

}  // namespace
}  // namespace hexlane
