#include <gmock/gmock.h>

#include "hexlane/interrupt.h"
#include "runtime/testing.h"

namespace hexlane {
namespace {
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Ids = std::vector<int32_t>;

// Stages of 1 and 4 rows over 16 positions; end-of-sequence is 2.
class SessionTest : public ::testing::Test {
 protected:
  void Open(const Manifest& manifest = testing::TinyManifest(), int context = 0) {
    ASSERT_TRUE(testing::WriteTinyPackage(dir_.path() / "p", manifest));
    auto engine = Engine::Open(dir_.path() / "p", {.backend = "null", .context = context});
    ASSERT_TRUE(engine) << engine.error().ToString();
    engine_ = *engine;
    auto session = engine_->NewSession();
    ASSERT_TRUE(session) << session.error().ToString();
    session_ = std::move(*session);
  }
  void SetUp() override { Open(); }

  GenerateResult Generate(const Ids& prompt, const GenerateOptions& options) {
    auto result = session_->Generate(prompt, options);
    EXPECT_TRUE(result) << result.error().ToString();
    return result ? *result : GenerateResult{};
  }

  testing::TempDir dir_;
  std::shared_ptr<Engine> engine_;
  std::unique_ptr<Session> session_;
};

TEST_F(SessionTest, CountsOnUntilMaxTokens) {
  const GenerateResult result = Generate({5, 6, 7, 8, 9}, {.max_tokens = 3});
  EXPECT_THAT(result.tokens, ElementsAre(10, 11, 12));
  EXPECT_EQ(result.text, "hij");
  EXPECT_EQ(result.finish_reason, FinishReason::kLength);
  EXPECT_THAT(session_->tokens(), ElementsAre(5, 6, 7, 8, 9, 10, 11));  // 12 is not run yet
}

TEST_F(SessionTest, EndsAtTheEndOfSequenceToken) {
  const GenerateResult result = Generate({0}, {});
  EXPECT_THAT(result.tokens, ElementsAre(1));
  EXPECT_EQ(result.text, "");  // <pad> is special
  EXPECT_EQ(result.finish_reason, FinishReason::kStop);
  session_->Reset();
  const GenerateResult on = Generate({0}, {.max_tokens = 4, .ignore_eos = true});
  EXPECT_THAT(on.tokens, ElementsAre(1, 2, 3, 4));
}

TEST_F(SessionTest, EndsWhenTheContextIsFull) {
  const GenerateResult result = Generate({3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14}, {});
  EXPECT_EQ(result.finish_reason, FinishReason::kContext);
  EXPECT_THAT(result.tokens, ElementsAre(15, 16, 17, 18, 19));
  EXPECT_EQ(session_->position(), 16);
  EXPECT_EQ(session_->Generate(Ids{3}, {}).error().code, Code::kInvalidInput);
}

TEST_F(SessionTest, AFullContextIsTheReasonThoughAsManyTokensWereGenerated) {
  const GenerateResult result = Generate({3}, {.ignore_eos = true});
  EXPECT_EQ(result.tokens.size(), 16u);
  EXPECT_EQ(result.finish_reason, FinishReason::kContext);
}

TEST_F(SessionTest, TakesAPromptThatFillsTheContext) {
  const GenerateResult result = Generate(Ids(16, 3), {});
  EXPECT_THAT(result.tokens, ElementsAre(4));
  EXPECT_EQ(result.finish_reason, FinishReason::kContext);
}

TEST_F(SessionTest, SaysByHowManyTokensAPromptIsTooLong) {
  const auto result = session_->Generate(Ids(19, 3), {});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Code::kInvalidInput);
  EXPECT_THAT(result.error().what, HasSubstr("3 tokens too long"));
  EXPECT_EQ(session_->position(), 0);
}

TEST_F(SessionTest, RefusesNoTokensAndUnknownOnes) {
  EXPECT_EQ(session_->Generate(Ids{}, {}).error().code, Code::kInvalidInput);
  EXPECT_EQ(session_->Feed(Ids{3, 32}).error().code, Code::kInvalidInput);
  EXPECT_EQ(session_->Feed(Ids{-1}).error().code, Code::kInvalidInput);
  EXPECT_EQ(session_->position(), 0);
}

TEST_F(SessionTest, HoldsFewerPositionsWhenAsked) {
  Open(testing::TinyManifest(), 6);
  EXPECT_EQ(session_->capacity(), 6);
  EXPECT_EQ(engine_->info().context, 6);
  EXPECT_EQ(Generate({3, 4, 5, 6}, {}).tokens.size(), 3u);
}

TEST_F(SessionTest, StopsBeforeAStopString) {
  const GenerateResult result = Generate({9}, {.stop = {"klm"}});  // after "g": h i j k l m
  EXPECT_EQ(result.text, "hij");
  EXPECT_EQ(result.finish_reason, FinishReason::kStopString);
  EXPECT_EQ(result.tokens.back(), 15);
}

TEST_F(SessionTest, GivesTextThatWasHeldBackAtTheEnd) {
  std::string streamed;
  int32_t last = 0;
  GenerateOptions options{.max_tokens = 5, .stop = {"klmx"}};
  options.on_token = [&](const TokenEvent& token) {
    streamed += token.text;
    last = token.id;
    return true;
  };
  const GenerateResult result = Generate({9}, options);
  EXPECT_EQ(result.text, "hijkl");
  EXPECT_EQ(streamed, result.text);
  EXPECT_EQ(last, -1);
}

TEST_F(SessionTest, StreamsOnlyWholeCharacters) {
  std::vector<std::string> pieces;
  GenerateOptions options{.max_tokens = 2};
  options.on_token = [&](const TokenEvent& token) {
    pieces.emplace_back(token.text);
    return true;
  };
  EXPECT_EQ(Generate({29}, options).text, "é");
  EXPECT_THAT(pieces, ElementsAre("", "é"));
}

TEST_F(SessionTest, CancelsWhenTheCallbackSaysSo) {
  GenerateOptions options;
  options.on_token = [](const TokenEvent& token) { return token.index < 2; };
  const GenerateResult result = Generate({5}, options);
  EXPECT_EQ(result.finish_reason, FinishReason::kCancelled);
  EXPECT_EQ(result.tokens.size(), 3u);
}

TEST_F(SessionTest, CancelsDuringThePrompt) {
  GenerateOptions options;
  std::vector<int> done;
  options.on_prefill = [&](int tokens, int total) {
    EXPECT_EQ(total, 10);
    done.push_back(tokens);
    return tokens < 8;
  };
  EXPECT_EQ(session_->Generate(Ids(10, 3), options).error().code, Code::kCancelled);
  EXPECT_THAT(done, ElementsAre(4, 8));
  EXPECT_EQ(session_->position(), 8);  // what ran stays
}

TEST_F(SessionTest, GivesTheSameLogitsInChunksAndSingly) {
  const Ids ids = {3, 9, 4, 8, 5, 7, 6};
  const auto whole = session_->Feed(ids);
  ASSERT_TRUE(whole);
  const std::vector<float> want(whole->begin(), whole->end());
  session_->Reset();
  for (const int32_t id : ids) ASSERT_TRUE(session_->Feed(Ids{id}));
  EXPECT_THAT(*session_->Feed(Ids{3}), ::testing::Not(::testing::ElementsAreArray(want)));
  ASSERT_TRUE(session_->Rewind(6));
  EXPECT_THAT(*session_->Feed(Ids{6}), ::testing::ElementsAreArray(want));
}

TEST_F(SessionTest, RewindsOnlyIntoTheCache) {
  ASSERT_TRUE(session_->Feed(Ids{3, 4, 5}));
  EXPECT_EQ(session_->Rewind(4).error().code, Code::kInvalidInput);
  EXPECT_EQ(session_->Rewind(-1).error().code, Code::kInvalidInput);
  EXPECT_TRUE(session_->Rewind(1));
  EXPECT_THAT(session_->tokens(), ElementsAre(3));
}

TEST_F(SessionTest, KeepsTheCommonPrefixOfTheNextTurn) {
  ASSERT_TRUE(session_->Feed(Ids{3, 4, 5, 6}));
  EXPECT_EQ(session_->KeepCommonPrefix(Ids{3, 4, 9, 9, 9}), 2);
  EXPECT_THAT(session_->tokens(), ElementsAre(3, 4));
  EXPECT_EQ(session_->KeepCommonPrefix(Ids{3, 4}), 1);  // one is left to run
  EXPECT_EQ(session_->KeepCommonPrefix(Ids{}), 0);
  EXPECT_THAT(session_->tokens(), IsEmpty());
}

TEST_F(SessionTest, EvaluatesEveryPosition) {
  const Ids ids = {3, 9, 4, 8, 5, 7};
  Ids best;
  std::vector<int64_t> positions;
  ASSERT_TRUE(session_->Feed(Ids{0}));
  const auto done = session_->Evaluate(ids, [&](int64_t position, std::span<const float> logits) {
    positions.push_back(position);
    best.push_back(
        static_cast<int32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin()));
  });
  ASSERT_TRUE(done) << done.error().ToString();
  EXPECT_THAT(positions, ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(best, ElementsAre(4, 10, 5, 9, 6, 8));
  EXPECT_EQ(session_->position(), 7);
}

TEST_F(SessionTest, ShowsIntermediateValues) {
  std::vector<std::pair<int64_t, size_t>> seen;
  EvaluateOptions options;
  options.on_value = [&](std::string_view name, int64_t first, std::span<const float> values) {
    EXPECT_EQ(name, "logits");
    seen.emplace_back(first, values.size());
  };
  ASSERT_TRUE(
      session_->Evaluate(Ids{3, 4, 5, 6, 7}, [](int64_t, std::span<const float>) {}, options));
  EXPECT_THAT(seen, ElementsAre(std::pair(0, 4 * 32), std::pair(4, 32)));
}

TEST_F(SessionTest, RunsPartsOneAfterTheOther) {
  Manifest manifest = testing::TinyManifest();
  manifest.plan.variants[0].parts = {{"null", 0, 1, "ids", "a", {"null/model.null"}, ""},
                                     {"null", 1, 1, "a", "b", {}, ""},
                                     {"null", 2, 1, "b", "logits", {}, ""}};
  Open(manifest);
  EXPECT_THAT(Generate({3, 4, 5, 6, 7, 8}, {.max_tokens = 2}).tokens, ElementsAre(9, 10));
}

TEST_F(SessionTest, KeepsSessionsApart) {
  auto other = *engine_->NewSession();
  ASSERT_TRUE(session_->Feed(Ids{3, 4, 5}));
  ASSERT_TRUE(other->Feed(Ids{9}));
  EXPECT_THAT(Generate({6}, {.max_tokens = 1}).tokens, ElementsAre(7));
  EXPECT_EQ(other->position(), 1);
}

TEST_F(SessionTest, OutlivesItsEngine) {
  engine_.reset();
  EXPECT_THAT(Generate({6}, {.max_tokens = 1}).tokens, ElementsAre(7));
}

TEST_F(SessionTest, RefusesSamplingOptionsOutOfRange) {
  EXPECT_EQ(session_->Generate(Ids{3}, {.top_k = -1}).error().code, Code::kUsage);
  EXPECT_EQ(session_->Generate("a", {.temperature = -1}).error().code, Code::kUsage);
  EXPECT_EQ(session_->position(), 0);
}

TEST_F(SessionTest, TokenisesATextPrompt) {
  const auto result = session_->Generate("cab", {.max_tokens = 2});
  ASSERT_TRUE(result) << result.error().ToString();
  EXPECT_THAT(session_->tokens(), ElementsAre(5, 29, 30));
  EXPECT_EQ(result->text, "é");
  EXPECT_EQ(result->stats.prompt_tokens, 2);
}

TEST_F(SessionTest, ReportsItsTimes) {
  const GenerateStats stats = Generate({3, 4, 5}, {.max_tokens = 5}).stats;
  EXPECT_EQ(stats.prompt_tokens, 3);
  EXPECT_EQ(stats.generated_tokens, 5);
  EXPECT_GT(stats.first_token_ms, 0);
  EXPECT_GT(stats.prefill_tok_s, 0);
  EXPECT_GT(stats.decode_tok_s, 0);
  EXPECT_GT(stats.peak_rss_bytes, size_t{1} << 20);
  EXPECT_GT(stats.load_ms, 0);
}

}  // namespace
}  // namespace hexlane
