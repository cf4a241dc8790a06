#include "c_api/generate.h"

#include "c_api/structs.h"

namespace hexlane::c_api {

Result<GenerateOptions> ToOptions(const hexlane_generate_options& options) {
  GenerateOptions made{.max_tokens = options.max_tokens,
                       .temperature = options.temperature,
                       .top_k = options.top_k,
                       .min_p = options.min_p,
                       .seed = options.seed,
                       .ignore_eos = options.ignore_eos};
  if (options.top_p != 0) made.top_p = options.top_p;
  if (options.repetition_penalty != 0) made.repetition_penalty = options.repetition_penalty;
  if (options.repetition_window != 0) made.repetition_window = options.repetition_window;
  if (options.stop_count != 0) HEXLANE_NEED(options.stop);
  for (const char* text : std::span(options.stop, options.stop_count)) {
    HEXLANE_NEED(text);
    made.stop.emplace_back(text);
  }
  return made;
}

Result<std::span<const int32_t>> Prompt(const int32_t* ids, size_t count) {
  if (count != 0) HEXLANE_NEED(ids);
  return std::span(ids, count);
}

namespace {

// The caller's callbacks, each after the question whether the session was cancelled.
void AddCallbacks(hexlane_session& session, const hexlane_generate_options& given,
                  GenerateOptions& options) {
  options.on_token = [&session, &given](const TokenEvent& event) {
    const hexlane_token token{.struct_size = sizeof(token),
                              .text = event.text.data(),
                              .text_size = event.text.size(),
                              .id = event.id,
                              .index = event.index};
    return (given.on_token == nullptr || given.on_token(&token, given.user)) && !session.cancelled;
  };
  options.on_prefill = [&session, &given](int done, int total) {
    return (given.on_prefill == nullptr || given.on_prefill(done, total, given.user)) &&
           !session.cancelled;
  };
}

}  // namespace
}  // namespace hexlane::c_api

using namespace hexlane;         // NOLINT: the definitions of C functions
using namespace hexlane::c_api;  // NOLINT

extern "C" {

hexlane_code hexlane_generate(hexlane_session* session, const int32_t* prompt, size_t count,
                              const hexlane_generate_options* options, hexlane_result** result,
                              hexlane_error** error) {
  return Guarded(error, [&]() -> Result<void> {
    HEXLANE_NEED(session);
    session->cancelled = false;
    const hexlane_generate_options given = TRY(Read(options, "hexlane_generate_options"));
    GenerateOptions made = TRY(ToOptions(given));
    AddCallbacks(*session, given, made);
    GenerateResult generated = TRY(session->session->Generate(TRY(Prompt(prompt, count)), made));
    if (result != nullptr) *result = new hexlane_result{std::move(generated)};
    return {};
  });
}

const char* hexlane_result_text(const hexlane_result* result, size_t* size) {
  if (size != nullptr) *size = result == nullptr ? 0 : result->result.text.size();
  return result == nullptr ? "" : result->result.text.c_str();
}

const int32_t* hexlane_result_tokens(const hexlane_result* result, size_t* count) {
  if (count != nullptr) *count = result == nullptr ? 0 : result->result.tokens.size();
  return result == nullptr ? nullptr : result->result.tokens.data();
}

int32_t hexlane_result_finish_reason(const hexlane_result* result) {
  return result == nullptr ? HEXLANE_FINISH_CANCELLED
                           : static_cast<int32_t>(result->result.finish_reason);
}
static_assert(static_cast<int>(FinishReason::kStop) == HEXLANE_FINISH_STOP);
static_assert(static_cast<int>(FinishReason::kLength) == HEXLANE_FINISH_LENGTH);
static_assert(static_cast<int>(FinishReason::kStopString) == HEXLANE_FINISH_STOP_STRING);
static_assert(static_cast<int>(FinishReason::kContext) == HEXLANE_FINISH_CONTEXT);
static_assert(static_cast<int>(FinishReason::kCancelled) == HEXLANE_FINISH_CANCELLED);
static_assert(static_cast<int>(FinishReason::kTooHot) == HEXLANE_FINISH_TOO_HOT);

void hexlane_result_stats(const hexlane_result* result, hexlane_stats* stats) {
  if (result == nullptr) return;
  const GenerateStats& known = result->result.stats;
  Write({.prompt_tokens = known.prompt_tokens,
         .generated_tokens = known.generated_tokens,
         .load = known.load_ms / 1e3,
         .first_token = known.first_token_ms / 1e3,
         .prefill = known.prefill_s,
         .decode = known.decode_s,
         .prefill_tok_s = known.prefill_tok_s,
         .decode_tok_s = known.decode_tok_s,
         .execute = known.seconds.execute,
         .peak_rss_bytes = known.peak_rss_bytes},
        stats);
}

void hexlane_result_free(hexlane_result* result) { delete result; }

}  // extern "C"
