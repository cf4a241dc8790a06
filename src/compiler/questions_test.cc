#include "compiler/questions.h"

#include <gmock/gmock.h>

#include "base/json.h"

namespace hexlane {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Letters a, b, c and the space; "ab" and " b" are tokens too. BOS is not put before a text.
std::unique_ptr<Tokenizer> MakeTokenizer() {
  const Json byte_level = {{"type", "ByteLevel"}, {"add_prefix_space", false}};
  const Json vocab = {{"a", 0}, {"b", 1}, {"c", 2}, {"\u0120", 3}, {"ab", 4}, {"\u0120b", 5}};
  const Json bos = {{"id", 6},         {"content", "<s>"}, {"single_word", false},
                    {"lstrip", false}, {"rstrip", false},  {"normalized", false},
                    {"special", true}};
  const Json tokenizer = {
      {"version", "1.0"},
      {"added_tokens", Json::array({bos})},
      {"normalizer", nullptr},
      {"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", false}}},
      {"post_processor", nullptr},
      {"decoder", byte_level},
      {"model", {{"type", "BPE"}, {"vocab", vocab}, {"merges", {"a b", "\u0120 b"}}}}};
  auto made = Tokenizer::FromJson(tokenizer.dump(), R"({"bos_token": "<s>"})");
  if (!made) ADD_FAILURE() << made.error().ToString();
  return made ? std::move(*made) : nullptr;
}

Question Ask(std::string context, std::string delimiter, std::string choice) {
  return {std::move(context), std::move(delimiter), {std::move(choice), "c"}, 0, "q.jsonl: line 1"};
}

struct Cut {
  std::vector<int32_t> context, choice;
};
Cut CutOf(const Question& question, size_t context = 64) {
  const auto sequence = EncodeChoice(*MakeTokenizer(), question, 0, context);
  if (!sequence) {
    ADD_FAILURE() << sequence.error().ToString();
    return {};
  }
  const auto middle = sequence->ids.begin() + static_cast<ptrdiff_t>(sequence->first) + 1;
  return {{sequence->ids.begin(), middle}, {middle, sequence->ids.end()}};
}

TEST(EncodeChoice, TheDelimiterIsTokenisedWithTheChoice) {
  const Cut cut = CutOf(Ask("ca", " ", "b"));
  EXPECT_THAT(cut.context, ElementsAre(2, 0));
  EXPECT_THAT(cut.choice, ElementsAre(5));
}

TEST(EncodeChoice, SpacesThatEndTheContextBelongToTheChoice) {
  const Cut cut = CutOf(Ask("ca ", "", "b"));
  EXPECT_THAT(cut.context, ElementsAre(2, 0));
  EXPECT_THAT(cut.choice, ElementsAre(5));
}

TEST(EncodeChoice, ATokenAcrossTheCutCountsForTheContextAlone) {
  const Cut cut = CutOf(Ask("a", "", "bc"));  // [ab][c]: the context has one token, [a]
  EXPECT_THAT(cut.context, ElementsAre(0));
  EXPECT_THAT(cut.choice, ElementsAre(2));
}

TEST(EncodeChoice, AnEmptyContextIsTheBos) {
  const Cut cut = CutOf(Ask("", "", "bc"));
  EXPECT_THAT(cut.context, ElementsAre(6));
  EXPECT_THAT(cut.choice, ElementsAre(1, 2));
}

TEST(EncodeChoice, ALongContextLosesItsBeginning) {
  const Cut cut = CutOf(Ask("cacaca", " ", "b"), 3);
  EXPECT_THAT(cut.context, ElementsAre(0, 2, 0));
  EXPECT_THAT(cut.choice, ElementsAre(5));
}

TEST(EncodeChoice, RefusesAChoiceThatIsTooLongOrAddsNothing) {
  const auto tokenizer = MakeTokenizer();
  const auto longer = EncodeChoice(*tokenizer, Ask("a", "", "cccc"), 0, 3);
  ASSERT_FALSE(longer);
  EXPECT_EQ(longer.error().code, Code::kInvalidInput);
  EXPECT_THAT(longer.error().ToString(), HasSubstr("q.jsonl: line 1, choice 0"));
  const auto nothing = EncodeChoice(*tokenizer, Ask("a", "", "b"), 0, 64);  // [ab]
  ASSERT_FALSE(nothing);
  EXPECT_THAT(nothing.error().ToString(), HasSubstr("a choice has no tokens"));
}

TEST(ParseQuestions, TakesBothNamesOfAFieldAndSkipsEmptyLines) {
  const auto questions = ParseQuestions(
      "{\"context\": \"x\", \"choices\": [\"a\", \"b\"], \"answer\": 1}\n\n"
      "{\"question\": \"y\", \"choices\": [\"a\", \"b\"], \"label\": 0, \"delimiter\": \"\"}",
      "q.jsonl", 0);
  ASSERT_TRUE(questions) << questions.error().ToString();
  ASSERT_EQ(questions->size(), 2u);
  EXPECT_EQ((*questions)[0].context, "x");
  EXPECT_EQ((*questions)[0].answer, 1u);
  EXPECT_EQ((*questions)[0].delimiter, " ");
  EXPECT_EQ((*questions)[1].context, "y");
  EXPECT_EQ((*questions)[1].delimiter, "");
  EXPECT_EQ((*questions)[1].where, "q.jsonl: line 3");
}

TEST(ParseQuestions, StopsAfterAsManyAsAreWanted) {
  const std::string line = "{\"context\": \"x\", \"choices\": [\"a\", \"b\"], \"answer\": 1}\n";
  EXPECT_EQ(ParseQuestions(line + line + "broken", "q", 2)->size(), 2u);
}

TEST(ParseQuestions, ErrorsNameFileLineAndField) {
  const std::pair<const char*, std::vector<const char*>> cases[] = {
      {"", {"q.jsonl", "no questions"}},
      {"\n{", {"q.jsonl: line 2"}},
      {"[]", {"q.jsonl: line 1", "object"}},
      {R"({"choices": ["a", "b"], "answer": 0})", {"line 1", "context"}},
      {R"({"context": "", "question": "", "choices": ["a", "b"], "answer": 0})", {"question"}},
      {R"({"context": "", "choices": "ab", "answer": 0})", {"line 1", "choices"}},
      {R"({"context": "", "choices": ["a"], "answer": 0})", {"choices", "two or more"}},
      {R"({"context": "", "choices": ["a", 2], "answer": 0})", {"\"choices\"[1]"}},
      {R"({"context": "", "choices": ["", "b"], "answer": 0})", {"\"choices\"[0]"}},
      {R"({"context": "", "choices": ["a", "b"]})", {"line 1", "answer"}},
      {R"({"context": "", "choices": ["a", "b"], "answer": 2})", {"answer", "0..1"}},
      {R"({"context": "", "choices": ["a", "b"], "label": -1})", {"label", "0..1"}},
      {R"({"context": "", "choices": ["a", "b"], "answer": "a"})", {"line 1", "answer"}},
  };
  for (const auto& [text, parts] : cases) {
    const auto questions = ParseQuestions(text, "q.jsonl", 0);
    ASSERT_FALSE(questions) << text;
    for (const char* part : parts) EXPECT_THAT(questions.error().ToString(), HasSubstr(part));
  }
}

}  // namespace
}  // namespace hexlane
