#include "runtime/generation.h"

#include <algorithm>

#include "base/memory.h"
#include "hexlane/interrupt.h"
#include "runtime/power/control.h"

namespace hexlane {
namespace {

constexpr double kMaxCopyShare = 0.2;
constexpr size_t kTextBytesPerToken = 16;  // reserved; texts have about 4

SamplerOptions ToSampler(const GenerateOptions& options) {
  return {.temperature = options.temperature,
          .top_k = options.top_k,
          .top_p = options.top_p,
          .min_p = options.min_p,
          .repetition_penalty = options.repetition_penalty,
          .repetition_window = options.repetition_window,
          .seed = options.seed};
}

std::string CopyWarning(const StageSeconds& seconds) {
  const double total =
      seconds.tokenize + seconds.copy + seconds.execute + seconds.sample + seconds.detokenize;
  if (total <= 0 || seconds.copy <= kMaxCopyShare * total) return {};
  return fmt::format("copying to and from the backend takes {:.0f} % of the time",
                     100 * seconds.copy / total);
}

}  // namespace

Generation::Generation(Session::Impl& session, const GenerateOptions& options, Stopwatch started,
                       double tokenize_seconds)
    : session_(session),
      options_(options),
      started_(started),
      max_tokens_(static_cast<size_t>(session.capacity())),
      sampler_(ToSampler(options), session.model().shape().vocab),
      stream_(session.engine->tokenizer.get(), options.stop),
      vote_(session.model().votes()),
      cancelled_([this] { return Cancelled(); }) {
  if (options.max_tokens > 0)
    max_tokens_ = std::min(max_tokens_, static_cast<size_t>(options.max_tokens));
  result_.tokens.reserve(max_tokens_);
  result_.text.reserve(max_tokens_ * kTextBytesPerToken);
  result_.stats.seconds.tokenize = tokenize_seconds;
}

Result<GenerateResult> Generation::Run(std::span<const int32_t> prompt) {
  watch_ = Stopwatch();
  const bool prefilled = TRY(Prefill(prompt));
  result_.stats.prefill_s = watch_.Lap();
  if (prefilled) TRY(Decode());
  vote_.Set(PowerMode::kReleased);
  Finish(prompt.size());
  return std::move(result_);
}

Result<bool> Generation::Prefill(std::span<const int32_t> prompt) {
  TRY(session_.CheckFits(prompt));
  const int total = static_cast<int>(prompt.size());
  int done = 0;
  while (done < total) {
    TRY(CheckInterrupt());
    if (!Vote(PowerMode::kBurst)) return false;
    done += TRY(session_.Advance(prompt.subspan(static_cast<size_t>(done)), &times_));
    if (options_.on_prefill && !options_.on_prefill(done, total))
      return hexlane::Cancelled("cancelled after {} of {} prompt tokens", done, total);
  }
  return true;
}

Result<void> Generation::Decode() {
  while (true) {
    if (PowerControl* power = session_.model().power()) power->impl().WaitForTurn(cancelled_);
    const int32_t id = TRY(Sample());
    if (result_.tokens.empty()) result_.stats.first_token_ms = started_.seconds() * 1e3;
    if (const auto reason = Accept(id)) {
      result_.finish_reason = *reason;
      return {};
    }
    TRY(session_.Advance(std::span(&id, 1), &times_));
  }
}

Result<int32_t> Generation::Sample() {
  const Stopwatch watch;
  const Result<int32_t> id = sampler_.Sample(session_.logits, session_.tokens);
  result_.stats.seconds.sample += watch.seconds();
  return id;
}

// The reason why generation ends with this token, if it does.
std::optional<FinishReason> Generation::Accept(int32_t id) {
  if (!options_.ignore_eos && IsEnd(id)) return FinishReason::kStop;
  result_.tokens.push_back(id);
  Stopwatch watch;
  const std::string_view text = stream_.Push(id);
  result_.stats.seconds.detokenize += watch.seconds();
  const bool go_on = Emit(id, text);
  if (stream_.stopped()) return FinishReason::kStopString;
  if (!go_on || Cancelled()) return FinishReason::kCancelled;
  if (options_.max_tokens > 0 && result_.tokens.size() == static_cast<size_t>(options_.max_tokens))
    return FinishReason::kLength;
  if (session_.position() == session_.capacity()) return FinishReason::kContext;
  if (!Vote(PowerMode::kSustainedHigh)) return FinishReason::kTooHot;
  return std::nullopt;
}

bool Generation::Cancelled() const {
  return Interrupted() || (options_.cancelled && options_.cancelled());
}

bool Generation::Vote(PowerMode mode) {
  PowerControl* power = session_.model().power();
  const HeatState heat = power ? power->impl().Look() : HeatState::kNormal;
  if (heat == HeatState::kCritical) {
    result_.finish_reason = FinishReason::kTooHot;
    return false;
  }
  vote_.Set(heat == HeatState::kSaver ? PowerMode::kPowerSaver : mode);
  return true;
}

bool Generation::IsEnd(int32_t id) const {
  return std::ranges::count(session_.model().shape().eos_ids, id) != 0;
}

bool Generation::Emit(int32_t id, std::string_view text) {
  result_.text += text;
  if (!options_.on_token) return true;
  return options_.on_token(
      {.id = id, .index = static_cast<int>(result_.tokens.size()) - 1, .text = text});
}

void Generation::Finish(size_t prompt_tokens) {
  const std::string_view rest = stream_.Finish();
  if (!rest.empty() && result_.finish_reason != FinishReason::kCancelled) Emit(-1, rest);
  if (stream_.stopped()) result_.finish_reason = FinishReason::kStopString;
  GenerateStats& stats = result_.stats;
  stats.decode_s = watch_.seconds();
  stats.prompt_tokens = static_cast<int>(prompt_tokens);
  stats.generated_tokens = static_cast<int>(result_.tokens.size());
  stats.seconds.copy = times_.copy;
  stats.seconds.execute = times_.execute;
  stats.load_ms = session_.engine->info.load.total * 1e3;
  if (stats.prefill_s > 0) stats.prefill_tok_s = stats.prompt_tokens / stats.prefill_s;
  if (stats.generated_tokens > 1)
    stats.decode_tok_s = (stats.generated_tokens - 1) / stats.decode_s;
  stats.peak_rss_bytes = PeakRssBytes();
  stats.warning = CopyWarning(stats.seconds);
}

Result<GenerateResult> Session::Generate(std::span<const int32_t> prompt,
                                         const GenerateOptions& options) {
  TRY(CheckSamplerOptions(ToSampler(options)));
  return Generation(*impl_, options, Stopwatch(), 0).Run(prompt);
}

Result<GenerateResult> Session::Generate(std::string_view prompt, const GenerateOptions& options) {
  const Stopwatch started;
  TRY(CheckSamplerOptions(ToSampler(options)));
  const Tokenizer* tokenizer = TRY(impl_->engine->NeedTokenizer());
  const std::vector<int32_t> ids =
      tokenizer->Encode(prompt, {.add_special_tokens = position() == 0});
  return Generation(*impl_, options, started, started.seconds()).Run(ids);
}

}  // namespace hexlane
