// One call of Session::Generate.
#ifndef HEXLANE_RUNTIME_GENERATION_H_
#define HEXLANE_RUNTIME_GENERATION_H_

#include <optional>

#include "runtime/sample/sampler.h"
#include "runtime/session_impl.h"
#include "runtime/stopwatch.h"
#include "runtime/text_stream.h"

namespace hexlane {

// Everything that the loop needs is allocated here; a token then costs no allocation, but for the
// text of an unusually long one.
class Generation {
 public:
  // `options`: its sampling fields are in range. `started`: when the caller's request came;
  // `tokenize_seconds` of it went to tokenising.
  Generation(Session::Impl& session, const GenerateOptions& options, Stopwatch started,
             double tokenize_seconds);

  Result<GenerateResult> Run(std::span<const int32_t> prompt);

 private:
  Result<bool> Prefill(std::span<const int32_t> prompt);  // false: too hot
  Result<void> Decode();
  Result<int32_t> Sample();
  std::optional<FinishReason> Accept(int32_t id);
  bool IsEnd(int32_t id) const;
  bool Emit(int32_t id, std::string_view text);  // false: cancelled
  bool Cancelled() const;
  // Votes for `mode`, or for thrift when the phone is warm; false: too hot to go on.
  bool Vote(PowerMode mode);
  void Finish(size_t prompt_tokens);

  Session::Impl& session_;
  const GenerateOptions& options_;
  Stopwatch started_;
  Stopwatch watch_;
  size_t max_tokens_;
  Sampler sampler_;
  TextStream stream_;
  PowerVotes::Lease vote_;  // of this generation; also given back on errors
  std::function<bool()> cancelled_;
  RunTimes times_;
  GenerateResult result_;
};

}  // namespace hexlane

#endif  // HEXLANE_RUNTIME_GENERATION_H_
