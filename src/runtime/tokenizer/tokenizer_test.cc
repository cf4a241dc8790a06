#include "runtime/tokenizer/tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <thread>

#include "base/json.h"

namespace hexlane {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// A tokenizer of the tokens a b c ab ▁ ▁a <unk> and the bytes of é, merging a+b and ▁+a.
Json Small() {
  return Json::parse(R"({"version":"1.0","truncation":null,"padding":null,"added_tokens":[],
      "normalizer":null,"pre_tokenizer":null,"post_processor":null,"decoder":{"type":"Fuse"},
      "model":{"type":"BPE","unk_token":"<unk>",
      "vocab":{"a":0,"b":1,"c":2,"ab":3,"▁":4,"▁a":5,"<unk>":6,"<0xC3>":7,"<0xA9>":8," ":9},
      "merges":["a b",["▁","a"]]}})");
}

Json With(Json json, const std::string& pointer, std::string_view value) {
  json[Json::json_pointer(pointer)] = Json::parse(value);
  return json;
}

std::unique_ptr<Tokenizer> Make(const Json& json, std::string_view config = "") {
  auto made = Tokenizer::FromJson(json.dump(), config);
  EXPECT_TRUE(made) << made.error().ToString();
  return made ? std::move(*made) : nullptr;
}

std::vector<std::string> Tokens(const Tokenizer& tokenizer, std::string_view text,
                                EncodeOptions options = {}) {
  std::vector<std::string> tokens;
  for (const int32_t id : tokenizer.Encode(text, options))
    tokens.push_back(tokenizer.Token(id).value());
  return tokens;
}

Error ErrorOf(const Json& json, std::string_view config = "") {
  const auto made = Tokenizer::FromJson(json.dump(), config);
  EXPECT_FALSE(made);
  return made ? Error{} : made.error();
}

TEST(Bpe, MergesTheLowestRankFirst) {
  const auto tokenizer = Make(Small());
  EXPECT_THAT(tokenizer->Encode("abab▁ab"), ElementsAre(3, 3, 4, 3));
  EXPECT_THAT(tokenizer->Encode(""), IsEmpty());
}

TEST(Bpe, UnknownCharactersFuseWhenAsked) {
  EXPECT_THAT(Tokens(*Make(Small()), "axya"), ElementsAre("a", "<unk>", "<unk>", "a"));
  EXPECT_THAT(Tokens(*Make(With(Small(), "/model/fuse_unk", "true")), "axya"),
              ElementsAre("a", "<unk>", "a"));
  EXPECT_THAT(Tokens(*Make(With(Small(), "/model/unk_token", "null")), "axya"),
              ElementsAre("a", "a"));
}

TEST(Bpe, FallsBackToBytes) {
  const auto tokenizer = Make(With(Small(), "/model/byte_fallback", "true"));
  EXPECT_THAT(Tokens(*tokenizer, "é"), ElementsAre("<0xC3>", "<0xA9>"));
  EXPECT_THAT(Tokens(*tokenizer, "è"),
              ElementsAre("<unk>"));  // one of its bytes is not in the vocabulary
}

TEST(Bpe, IgnoresMergesForWholeWords) {
  Json json = With(Small(), "/model/merges", "[]");
  EXPECT_THAT(Tokens(*Make(json), "ab"), ElementsAre("a", "b"));
  json["model"]["ignore_merges"] = true;
  EXPECT_THAT(Tokens(*Make(json), "ab"), ElementsAre("ab"));
}

TEST(Bpe, MarksInnerCharactersAndTheLast) {
  Json json = With(Small(), "/model/vocab",
                   R"({"a":0,"##b":1,"##b</w>":2,"a</w>":3,"ab</w>":4,"<unk>":5})");
  json["model"]["continuing_subword_prefix"] = "##";
  json["model"]["end_of_word_suffix"] = "</w>";
  json["model"]["merges"] = Json::parse(R"([["a","##b</w>"]])");
  EXPECT_THAT(Tokens(*Make(json), "abb"), ElementsAre("a", "##b", "##b</w>"));
  EXPECT_THAT(Tokens(*Make(json), "ab"), ElementsAre("ab</w>"));
}

TEST(Bpe, LongWordsAreNotQuadratic) {
  const auto tokenizer = Make(Small());
  std::string text;
  for (int i = 0; i < 300'000; ++i) text += i % 3 == 0 ? "ab" : "a";
  EXPECT_EQ(tokenizer->Decode(tokenizer->Encode(text)), text);
}

TEST(AddedTokens, TakeTheLongestAtTheLeftmostPlace) {
  const auto tokenizer = Make(With(Small(), "/added_tokens", R"([
      {"id":20,"content":"<x>","special":true},{"id":21,"content":"<x>a","normalized":false},
      {"id":22,"content":"c","special":false,"normalized":false,"single_word":true}])"));
  EXPECT_THAT(tokenizer->Encode("a<x>ab"), ElementsAre(0, 21, 1));
  EXPECT_THAT(tokenizer->Encode("<x>b"), ElementsAre(20, 1));
  EXPECT_THAT(tokenizer->Encode("c ac"),
              ElementsAre(2, 9, 0, 2));  // an added token keeps the model's id
  EXPECT_TRUE(tokenizer->IsSpecial(20));
  EXPECT_FALSE(tokenizer->IsSpecial(21));
  EXPECT_EQ(tokenizer->vocab_size(), 22);
}

TEST(AddedTokens, SpecialOnesAreTextWhenAsked) {
  const auto tokenizer =
      Make(With(Small(), "/added_tokens", R"([{"id":20,"content":"ab","special":true},
      {"id":21,"content":"<y>","special":false}])"));
  EXPECT_THAT(Tokens(*tokenizer, "<y>cc", {.parse_special = false}), ElementsAre("<y>", "c", "c"));
  EXPECT_THAT(tokenizer->Decode(tokenizer->Encode("cab"), true), "c");
}

TEST(AddedTokens, TakeSpacesAroundThem) {
  const auto tokenizer = Make(With(Small(), "/added_tokens", R"([
      {"id":20,"content":"<l>","lstrip":true},{"id":21,"content":"<r>","rstrip":true}])"));
  EXPECT_THAT(tokenizer->Encode("a  <l> a"), ElementsAre(0, 20, 9, 0));
  EXPECT_THAT(tokenizer->Encode("a <r>  a"), ElementsAre(0, 9, 21, 0));
  EXPECT_THAT(tokenizer->Encode("<r> <l>a"), ElementsAre(21, 20, 0));
}

TEST(AddedTokens, NormalisedOnesAreFoundInNormalisedText) {
  Json json = With(Small(), "/normalizer", R"({"type":"Lowercase"})");
  json["added_tokens"] = Json::parse(R"([{"id":20,"content":"CA","normalized":true},
      {"id":21,"content":"CB","normalized":false}])");
  EXPECT_THAT(Make(json)->Encode("caCACBcb"), ElementsAre(20, 20, 21, 2, 1));
}

TEST(Encode, ReplacesInvalidUtf8) {
  const auto tokenizer = Make(With(Small(), "/model/vocab/�", "10"));
  EXPECT_THAT(Tokens(*tokenizer, "a\xF0\x9F\xFF"), ElementsAre("a", "�", "�"));
}

TEST(Encode, PrependsOnlyAtTheStart) {
  Json json =
      With(Small(), "/pre_tokenizer",
           R"({"type":"Metaspace","replacement":"▁","prepend_scheme":"first","split":false})");
  json["added_tokens"] = Json::parse(R"([{"id":20,"content":"<x>","special":true}])");
  EXPECT_THAT(Tokens(*Make(json), "a<x>a"), ElementsAre("▁a", "<x>", "a"));
  json["pre_tokenizer"]["prepend_scheme"] = "always";
  EXPECT_THAT(Tokens(*Make(json), "a<x>a"), ElementsAre("▁a", "<x>", "▁a"));
}

TEST(Encode, PutsSpecialTokensAround) {
  Json json = Small();
  json["post_processor"] = Json::parse(R"({"type":"TemplateProcessing","pair":[],
      "single":[{"SpecialToken":{"id":"S","type_id":0}},{"Sequence":{"id":"A","type_id":0}}],
      "special_tokens":{"S":{"id":"S","ids":[4,4],"tokens":["x","y"]}}})");
  EXPECT_THAT(Make(json)->Encode("a"), ElementsAre(4, 4, 0));
  EXPECT_THAT(Make(json)->Encode("a", {.add_special_tokens = false}), ElementsAre(0));
  EXPECT_THAT(Make(json)->prefix_ids(), ElementsAre(4, 4));
  const char* config =
      R"({"bos_token":"c","eos_token":"b","add_bos_token":false,"add_eos_token":true})";
  EXPECT_THAT(Make(json, config)->Encode("a"), ElementsAre(0, 1));
}

TEST(Config, GivesTokensAndTemplates) {
  const auto tokenizer =
      Make(Small(), R"({"bos_token":{"__type":"AddedToken","content":"a"},"eos_token":"ab",
      "pad_token":null,"unk_token":"nowhere","chat_template":[{"name":"tool_use","template":"T"},
      {"name":"default","template":"D"}],
      "added_tokens_decoder":{"30":{"content":"<z>","special":true}}})");
  EXPECT_EQ(tokenizer->bos_id(), 0);
  EXPECT_EQ(tokenizer->eos_id(), 3);
  EXPECT_EQ(tokenizer->eos_token(), "ab");
  EXPECT_FALSE(tokenizer->pad_token());
  EXPECT_EQ(tokenizer->chat_template(), "D");
  EXPECT_EQ(tokenizer->chat_templates().size(), 2u);
  EXPECT_THAT(tokenizer->Encode("<z>"), ElementsAre(30));
  EXPECT_FALSE(Make(Small())->chat_template());
}

TEST(Decode, LeavesOutUnknownIds) {
  EXPECT_EQ(Make(Small())->Decode(std::vector<int32_t>{0, -1, 99, INT32_MAX, 1}), "ab");
}

TEST(Decode, WithoutDecoderJoinsWithSpaces) {
  EXPECT_EQ(Make(With(Small(), "/decoder", "null"))->Decode(std::vector<int32_t>{0, 3}), "a ab");
}

std::string Stream(const Tokenizer& tokenizer, const std::vector<int32_t>& ids,
                   std::vector<std::string>* pieces) {
  StreamDecoder decoder(tokenizer);
  std::string all;
  for (const int32_t id : ids) {
    pieces->push_back(decoder.Push(id));
    all += pieces->back();
  }
  pieces->push_back(decoder.Finish());
  return all + pieces->back();
}

TEST(StreamDecoder, HoldsBackUnfinishedCharacters) {
  const auto tokenizer = Make(With(Small(), "/decoder", R"({"type":"Sequence","decoders":[
      {"type":"Replace","pattern":{"String":"▁"},"content":" "},{"type":"ByteFallback"},{"type":"Fuse"},
      {"type":"Strip","content":" ","start":1,"stop":1}]})"));
  std::vector<std::string> pieces;
  EXPECT_EQ(Stream(*tokenizer, {4, 7, 8, 5, 4, 7}, &pieces), "é a �");
  EXPECT_THAT(pieces, ElementsAre("", "", "é", " a", "", "", " �"));
  pieces.clear();
  EXPECT_EQ(Stream(*tokenizer, {0, 4}, &pieces), "a");  // the last space is stripped
  pieces.clear();
  EXPECT_EQ(Stream(*tokenizer, {7, 0, 8}, &pieces), "�a�");
}

TEST(Errors, NameTheFieldAndTheType) {
  const auto expect = [](const char* pointer, const char* value, Code code, const char* what) {
    const Error error = ErrorOf(With(Small(), pointer, value));
    EXPECT_EQ(error.code, code) << pointer << " " << error.ToString();
    EXPECT_THAT(error.ToString(), HasSubstr(what)) << pointer;
  };
  expect("/normalizer", R"({"type":"Precompiled"})", Code::kUnsupported, "Precompiled");
  expect("/normalizer", R"({"type":"NFC","x":1})", Code::kUnsupported, "normalizer");
  expect("/pre_tokenizer", R"({"type":"UnicodeScripts"})", Code::kUnsupported, "UnicodeScripts");
  expect("/pre_tokenizer", R"({"type":"Split","pattern":{"Regex":"["},"behavior":"Removed"})",
         Code::kCorrupt, "pre_tokenizer.pattern");
  expect("/decoder", R"({"type":"Sequence","decoders":[{"type":"CTC"}]})", Code::kUnsupported,
         "decoders[0]");
  expect("/post_processor", R"({"type":"Nope"})", Code::kUnsupported, "post_processor");
  expect("/model/type", "\"Unigram\"", Code::kUnsupported, "Unigram");
  expect("/model/dropout", "0.1", Code::kUnsupported, "dropout");
  expect("/model/surprise", "1", Code::kUnsupported, "surprise");
  expect("/model/unk_token", "\"zz\"", Code::kCorrupt, "unk_token");
  expect("/model/merges", R"(["a b","a z"])", Code::kCorrupt, "merges[1]");
  expect("/model/merges", R"(["a b c"])", Code::kCorrupt, "merges[0]");
  expect("/model/merges", R"([["a","b","c"]])", Code::kCorrupt, "merges[0]");
  expect("/model/merges", "[1]", Code::kCorrupt, "merges");
  expect("/model/vocab/a", "1", Code::kCorrupt, "twice");
  expect("/model/vocab/a", "-1", Code::kCorrupt, "negative");
  expect("/model/vocab/a", "99999999999", Code::kCorrupt, "too large");
  expect("/model/vocab/a", "\"x\"", Code::kCorrupt, "vocab");
  expect("/surprise", "1", Code::kUnsupported, "surprise");
  expect("/version", "\"2.0\"", Code::kUnsupported, "version");
  expect("/added_tokens", R"([{"id":1,"content":"<x>"}])", Code::kCorrupt, "added_tokens[0]");
}

TEST(Errors, ChainsThatExplodeAreRefused) {
  Json doubling = Json::array();
  for (int i = 0; i < 60; ++i)
    doubling.push_back({{"type", "Replace"}, {"pattern", {{"String", "a"}}}, {"content", "aa"}});
  const Json bytes(std::vector<Json>(30, Json{{"type", "ByteLevel"}}));
  const auto code = [](const char* key, const Json& value) {
    Json json = Small();
    json[key] = value;
    return ErrorOf(json).code;
  };
  EXPECT_EQ(code("normalizer", {{"type", "Sequence"}, {"normalizers", doubling}}),
            Code::kUnsupported);
  EXPECT_EQ(code("pre_tokenizer", {{"type", "Sequence"}, {"pretokenizers", bytes}}),
            Code::kUnsupported);
  EXPECT_EQ(code("decoder", {{"type", "Sequence"}, {"decoders", doubling}}), Code::kUnsupported);
  EXPECT_EQ(code("normalizer", {{"type", "Prepend"}, {"prepend", std::string(9999, 'a')}}),
            Code::kUnsupported);
}

TEST(Errors, MalformedTextsAreCorrupt) {
  for (const char* text :
       {"", "{", "[]", "null", "{\"model\":", "{\"model\":{\"type\":\"BPE\"}}", "\xFF"}) {
    const auto made = Tokenizer::FromJson(text);
    ASSERT_FALSE(made) << text;
    EXPECT_EQ(made.error().code, Code::kCorrupt) << text;
    EXPECT_THAT(made.error().where, HasSubstr("tokenizer.json"));
  }
  EXPECT_EQ(Tokenizer::FromJson("{\"normalizer\":" + std::string(1000, '[')).error().code,
            Code::kCorrupt);
  EXPECT_EQ(ErrorOf(Small(), "{").code, Code::kCorrupt);
  EXPECT_EQ(ErrorOf(Small(), R"({"bos_token":5})").code, Code::kCorrupt);
  EXPECT_EQ(ErrorOf(Small(), R"({"added_tokens_decoder":{"x":{"content":"a"}}})").code,
            Code::kCorrupt);
}

TEST(Tokenizer, IsSafeToShareBetweenThreads) {
  const auto tokenizer =
      Make(With(Small(), "/pre_tokenizer",
                R"({"type":"Split","pattern":{"Regex":"\\w+"},"behavior":"Isolated"})"));
  const auto want = tokenizer->Encode("ab ▁a ab");
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < 200; ++n) EXPECT_EQ(tokenizer->Encode("ab ▁a ab"), want);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace hexlane
