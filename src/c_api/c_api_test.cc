// The C API on the null backend, whose model counts: after token id comes id + 1.
#include <gmock/gmock.h>

#include <thread>

#include "hexlane/hexlane.h"
#include "runtime/testing.h"

namespace hexlane {
namespace {
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Ids = std::vector<int32_t>;

class CApi : public ::testing::Test {
 protected:
  void SetUp() override {
    Manifest manifest = testing::TinyManifest();
    manifest.plan.variants[0].stages = {{1, kContext}, {4, kContext}};
    manifest.plan.model.max_context = kContext;
    ASSERT_TRUE(testing::WriteTinyPackage(dir_.path() / "p", manifest));
    auto options = HEXLANE_INIT(hexlane_engine_options);
    options.backend = "null";
    const std::string path = dir_.path() / "p";
    ASSERT_EQ(hexlane_engine_open(path.c_str(), &options, &engine_, &error_), HEXLANE_OK)
        << Message();
    ASSERT_EQ(hexlane_session_new(engine_, &session_, &error_), HEXLANE_OK) << Message();
  }

  void TearDown() override {
    hexlane_session_free(session_);
    hexlane_engine_free(engine_);
    hexlane_error_free(error_);
  }

  std::string Message() const { return hexlane_error_message(error_); }

  // The call failed with this code; its message, and room for the next one.
  std::string Failed(hexlane_code got, hexlane_code want) {
    EXPECT_EQ(got, want) << Message();
    EXPECT_EQ(hexlane_error_code(error_), want);
    std::string message = Message();
    hexlane_error_free(error_);
    error_ = nullptr;
    return message;
  }

  static Ids TokensOf(const hexlane_result* result) {
    size_t count = 0;
    const int32_t* tokens = hexlane_result_tokens(result, &count);
    return {tokens, tokens + count};
  }

  static constexpr int kContext = 256;
  testing::TempDir dir_;
  hexlane_engine* engine_ = nullptr;
  hexlane_session* session_ = nullptr;
  hexlane_error* error_ = nullptr;
};

TEST_F(CApi, GeneratesWithTextTokensAndStatistics) {
  auto options = HEXLANE_INIT(hexlane_generate_options);
  options.max_tokens = 3;
  const Ids prompt = {5, 6, 7, 8, 9};
  hexlane_result* result = nullptr;
  ASSERT_EQ(hexlane_generate(session_, prompt.data(), prompt.size(), &options, &result, &error_),
            HEXLANE_OK)
      << Message();
  EXPECT_THAT(TokensOf(result), ElementsAre(10, 11, 12));
  size_t size = 0;
  EXPECT_EQ(std::string(hexlane_result_text(result, &size)), "hij");
  EXPECT_EQ(size, 3u);
  EXPECT_EQ(hexlane_result_finish_reason(result), HEXLANE_FINISH_LENGTH);
  auto stats = HEXLANE_INIT(hexlane_stats);
  hexlane_result_stats(result, &stats);
  EXPECT_EQ(stats.prompt_tokens, 5);
  EXPECT_EQ(stats.generated_tokens, 3);
  EXPECT_GT(stats.first_token, 0);
  EXPECT_GT(stats.peak_rss_bytes, 0u);
  hexlane_result_free(result);
  EXPECT_EQ(hexlane_session_position(session_), 7);
  EXPECT_EQ(hexlane_session_capacity(session_), kContext);
}

TEST_F(CApi, SaysWhatWasOpened) {
  auto info = HEXLANE_INIT(hexlane_info);
  hexlane_engine_info(engine_, &info);
  EXPECT_STREQ(info.architecture, "llama");
  EXPECT_STREQ(info.variant, "null");
  EXPECT_STREQ(info.backends, "null");
  EXPECT_EQ(info.context, kContext);
  EXPECT_EQ(info.vocab, 32);
  EXPECT_EQ(hexlane_api_version(), 100);
  EXPECT_STREQ(hexlane_version(), HEXLANE_VERSION);
}

TEST_F(CApi, EncodesDecodesAndRendersChats) {
  int32_t* ids = nullptr;
  size_t count = 0;
  ASSERT_EQ(hexlane_encode(engine_, "é</s>", 6, true, true, &ids, &count, &error_), HEXLANE_OK);
  EXPECT_THAT(Ids(ids, ids + count), ElementsAre(30, 31, 2));
  char* text = nullptr;
  size_t size = 0;
  ASSERT_EQ(hexlane_decode(engine_, ids, count, true, &text, &size, &error_), HEXLANE_OK);
  EXPECT_EQ(std::string(text, size), "é");
  hexlane_free(ids);
  hexlane_free(text);
  const std::string messages = R"([{"role": "user", "content": "hi"}])";
  ASSERT_EQ(hexlane_render_chat(engine_, messages.data(), messages.size(), &text, &size, &error_),
            HEXLANE_OK);
  EXPECT_EQ(std::string(text, size), "userhia");
  hexlane_free(text);
  EXPECT_THAT(Failed(hexlane_render_chat(engine_, "[", 1, &text, &size, &error_), HEXLANE_CORRUPT),
              HasSubstr("messages"));
}

TEST_F(CApi, ErrorsComeInParts) {
  const Ids prompt(300, 3);
  const hexlane_code code =
      hexlane_generate(session_, prompt.data(), prompt.size(), nullptr, nullptr, &error_);
  EXPECT_EQ(code, HEXLANE_INVALID_INPUT);
  EXPECT_STREQ(hexlane_code_name(code), "invalid input");
  EXPECT_THAT(hexlane_error_what(error_), HasSubstr("44 tokens"));
  EXPECT_THAT(Message(), HasSubstr(hexlane_error_what(error_)));
  EXPECT_STREQ(hexlane_error_where(nullptr), "");
  EXPECT_EQ(hexlane_generate(session_, prompt.data(), 300, nullptr, nullptr, nullptr),
            HEXLANE_INVALID_INPUT);  // nobody asks for the error
}

TEST_F(CApi, MissingPointersAreNamedAndDoNotCrash) {
  hexlane_engine* engine = nullptr;
  EXPECT_THAT(Failed(hexlane_engine_open(nullptr, nullptr, &engine, &error_), HEXLANE_USAGE),
              HasSubstr("package is NULL"));
  EXPECT_THAT(Failed(hexlane_engine_open("p", nullptr, nullptr, &error_), HEXLANE_USAGE),
              HasSubstr("engine is NULL"));
  EXPECT_THAT(Failed(hexlane_session_new(nullptr, &session_, &error_), HEXLANE_USAGE),
              HasSubstr("engine is NULL"));
  EXPECT_THAT(
      Failed(hexlane_generate(session_, nullptr, 3, nullptr, nullptr, &error_), HEXLANE_USAGE),
      HasSubstr("ids is NULL"));
  EXPECT_THAT(Failed(hexlane_stream_next(nullptr, 0, nullptr, &error_), HEXLANE_USAGE),
              HasSubstr("stream is NULL"));
  EXPECT_EQ(hexlane_session_position(nullptr), 0);
  hexlane_engine_info(nullptr, nullptr);
  hexlane_session_cancel(nullptr);
  hexlane_stream_free(nullptr);
  hexlane_result_free(nullptr);
  hexlane_free(nullptr);
}

TEST_F(CApi, FailsAsTheEngineDoes) {
  hexlane_engine* engine = nullptr;
  EXPECT_THAT(Failed(hexlane_engine_open("/nowhere", nullptr, &engine, &error_), HEXLANE_NOT_FOUND),
              HasSubstr("/nowhere"));
  EXPECT_EQ(engine, nullptr);
}

// A program built with a longer struct than this library knows.
TEST_F(CApi, UnknownFieldsAreRefusedUnlessTheyAreZero) {
  struct Later {
    hexlane_generate_options known;
    uint64_t unknown;
  } later{};
  later.known.struct_size = sizeof(later);
  later.known.max_tokens = 1;
  const int32_t id = 5;
  EXPECT_EQ(hexlane_generate(session_, &id, 1, &later.known, nullptr, &error_), HEXLANE_OK);
  later.unknown = 1;
  EXPECT_THAT(Failed(hexlane_generate(session_, &id, 1, &later.known, nullptr, &error_),
                     HEXLANE_UNSUPPORTED),
              HasSubstr("hexlane_generate_options"));
}

// A program built with a shorter one.
TEST_F(CApi, ShorterStructsAreReadAndFilledAsFarAsTheyGo) {
  auto options = HEXLANE_INIT(hexlane_generate_options);
  options.struct_size = offsetof(hexlane_generate_options, temperature);
  options.max_tokens = 2;
  options.temperature = -1;  // not part of it
  const int32_t id = 5;
  hexlane_result* result = nullptr;
  ASSERT_EQ(hexlane_generate(session_, &id, 1, &options, &result, &error_), HEXLANE_OK)
      << Message();
  auto stats = HEXLANE_INIT(hexlane_stats);
  stats.struct_size = offsetof(hexlane_stats, load);
  stats.load = -1;
  hexlane_result_stats(result, &stats);
  EXPECT_EQ(stats.generated_tokens, 2);
  EXPECT_EQ(stats.load, -1);
  EXPECT_EQ(stats.struct_size, offsetof(hexlane_stats, load));
  hexlane_result_free(result);
  options.struct_size = 0;
  EXPECT_THAT(Failed(hexlane_generate(session_, &id, 1, &options, nullptr, &error_), HEXLANE_USAGE),
              AllOf(HasSubstr("struct_size"), HasSubstr("HEXLANE_INIT")));
}

TEST_F(CApi, CallbacksSeeEveryTokenAndMayCancel) {
  struct Seen {
    Ids ids;
    std::string text;
    int32_t prefilled = 0;
  } seen;
  auto options = HEXLANE_INIT(hexlane_generate_options);
  options.user = &seen;
  options.on_token = [](const hexlane_token* token, void* user) {
    auto& all = *static_cast<Seen*>(user);
    all.ids.push_back(token->id);
    all.text.append(token->text, token->text_size);
    return all.ids.size() < 2;
  };
  options.on_prefill = [](int32_t done, int32_t, void* user) {
    static_cast<Seen*>(user)->prefilled = done;
    return true;
  };
  const Ids prompt = {3, 4, 5, 6, 7, 8};
  hexlane_result* result = nullptr;
  ASSERT_EQ(hexlane_generate(session_, prompt.data(), 6, &options, &result, &error_), HEXLANE_OK);
  EXPECT_EQ(hexlane_result_finish_reason(result), HEXLANE_FINISH_CANCELLED);
  hexlane_result_free(result);
  EXPECT_THAT(seen.ids, ElementsAre(9, 10));
  EXPECT_EQ(seen.text, "gh");
  EXPECT_EQ(seen.prefilled, 6);
}

TEST_F(CApi, RewindsAndKeepsWhatTwoPromptsShare) {
  auto options = HEXLANE_INIT(hexlane_generate_options);
  options.max_tokens = 1;
  const Ids first = {3, 4, 5, 6}, second = {3, 4, 8, 9};
  ASSERT_EQ(hexlane_generate(session_, first.data(), 4, &options, nullptr, &error_), HEXLANE_OK);
  EXPECT_EQ(hexlane_session_keep_common_prefix(session_, second.data(), 4), 2);
  EXPECT_EQ(hexlane_session_position(session_), 2);
  EXPECT_EQ(hexlane_session_rewind(session_, 1, &error_), HEXLANE_OK);
  EXPECT_EQ(hexlane_session_position(session_), 1);
  EXPECT_THAT(Failed(hexlane_session_rewind(session_, 5, &error_), HEXLANE_INVALID_INPUT),
              HasSubstr("5"));
}

TEST_F(CApi, SessionsOutliveTheirEngine) {
  hexlane_engine_free(engine_);
  engine_ = nullptr;
  const int32_t id = 5;
  auto options = HEXLANE_INIT(hexlane_generate_options);
  options.max_tokens = 1;
  EXPECT_EQ(hexlane_generate(session_, &id, 1, &options, nullptr, &error_), HEXLANE_OK);
}

class CStream : public CApi {
 protected:
  void Start(const Ids& prompt, int32_t max_tokens) {
    auto options = HEXLANE_INIT(hexlane_generate_options);
    options.max_tokens = max_tokens;
    options.ignore_eos = true;
    ASSERT_EQ(
        hexlane_stream_start(session_, prompt.data(), prompt.size(), &options, &stream_, &error_),
        HEXLANE_OK)
        << Message();
  }

  void TearDown() override {
    hexlane_stream_free(stream_);
    CApi::TearDown();
  }

  hexlane_stream* stream_ = nullptr;
};

TEST_F(CStream, GivesAllTextAndTokensHoweverSlowlyItIsRead) {
  Start({5, 6, 7}, 5);
  Ids ids;
  std::string text;
  auto event = HEXLANE_INIT(hexlane_event);
  while (!event.done) {
    ASSERT_EQ(hexlane_stream_next(stream_, -1, &event, &error_), HEXLANE_OK) << Message();
    ids.insert(ids.end(), event.ids, event.ids + event.id_count);
    text.append(event.text, event.text_size);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  EXPECT_THAT(ids, ElementsAre(8, 9, 10, 11, 12));
  EXPECT_EQ(text, "fghij");
  EXPECT_EQ(event.prompt_done, 3);
  EXPECT_EQ(event.prompt_total, 3);
  hexlane_result* result = nullptr;
  ASSERT_EQ(hexlane_stream_finish(stream_, &result, &error_), HEXLANE_OK);
  EXPECT_EQ(TokensOf(result), ids);
  hexlane_result_free(result);
  EXPECT_THAT(Failed(hexlane_stream_finish(stream_, &result, &error_), HEXLANE_USAGE),
              HasSubstr("finished"));
}

TEST_F(CStream, HandsOverTheGenerationsError) {
  Start(Ids(300, 3), 0);
  auto event = HEXLANE_INIT(hexlane_event);
  ASSERT_EQ(hexlane_stream_next(stream_, -1, &event, &error_), HEXLANE_OK);
  EXPECT_TRUE(event.done);
  EXPECT_THAT(Failed(hexlane_stream_finish(stream_, nullptr, &error_), HEXLANE_INVALID_INPUT),
              HasSubstr("44 tokens"));
}

TEST_F(CStream, EndsWhenItIsFreedOrCancelledFromAnyThread) {
  Start({5}, 0);
  hexlane_session_cancel(session_);
  auto event = HEXLANE_INIT(hexlane_event);
  while (!event.done) ASSERT_EQ(hexlane_stream_next(stream_, -1, &event, &error_), HEXLANE_OK);
  hexlane_stream_free(stream_);
  stream_ = nullptr;
  ASSERT_EQ(hexlane_session_rewind(session_, 0, &error_), HEXLANE_OK);
  Start({5}, 0);  // an earlier cancellation is not this one's; freed while it runs
}

TEST_F(CStream, TakesNoCallbacks) {
  auto options = HEXLANE_INIT(hexlane_generate_options);
  options.on_token = [](const hexlane_token*, void*) { return true; };
  const int32_t id = 5;
  EXPECT_THAT(
      Failed(hexlane_stream_start(session_, &id, 1, &options, &stream_, &error_), HEXLANE_USAGE),
      HasSubstr("hexlane_stream_next"));
}

}  // namespace
}  // namespace hexlane
