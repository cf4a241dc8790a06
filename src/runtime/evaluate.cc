// Session::Evaluate: the logits of every position, for perplexity and dumps.
#include "hexlane/interrupt.h"
#include "runtime/session_impl.h"

namespace hexlane {
namespace {

using LogitsCallback = std::function<void(int64_t, std::span<const float>)>;

class Evaluation {
 public:
  Evaluation(Session::Impl& session, const LogitsCallback& logits, const EvaluateOptions& options)
      : session_(session), logits_(logits) {
    if (!options.on_value) return;
    observer_ = [this, &options](std::string_view name, std::span<const float> values) {
      options.on_value(name, first_, values);
    };
  }

  Result<void> Run(std::span<const int32_t> ids) {
    TRY(session_.CheckFits(ids));
    Allocate();
    while (!ids.empty()) {
      TRY(CheckInterrupt());
      ids = ids.subspan(static_cast<size_t>(TRY(RunNext(ids))));
    }
    return {};
  }

 private:
  size_t vocab() const { return session_.logits.size(); }

  void Allocate() {
    const auto rows = static_cast<size_t>(session_.model().variant().stages.back().rows);
    session_.all_logits.resize(rows * vocab());
  }

  // Many rows at once where the compiled graph has all their logits, single rows otherwise.
  Result<int> RunNext(std::span<const int32_t> ids) {
    first_ = session_.position();
    const Step step = single_rows_ ? SingleStep(ids) : session_.Next(ids);
    const Result<void> done = RunStep(step, ids);
    if (!done && done.error().code == Code::kUnsupported && step.rows > 1) {
      single_rows_ = true;
      return RunNext(ids);
    }
    if (!done) return Failure(done.error());
    for (size_t row = 0; row < static_cast<size_t>(step.rows); ++row)
      logits_(first_ + static_cast<int64_t>(row),
              std::span(session_.all_logits).subspan(row * vocab(), vocab()));
    return step.rows;
  }

  Step SingleStep(std::span<const int32_t> ids) const { return session_.Next(ids.first(1)); }

  Result<void> RunStep(const Step& step, std::span<const int32_t> ids) {
    const size_t rows = static_cast<size_t>(step.rows);
    return session_.RunStep(step, ids,
                            {.logits = std::span(session_.all_logits).first(rows * vocab()),
                             .all_logits = rows > 1,
                             .observer = observer_ ? &observer_ : nullptr});
  }

  Session::Impl& session_;
  const LogitsCallback& logits_;
  ValueObserver observer_;
  int64_t first_ = 0;  // position of the current step's first row
  bool single_rows_ = false;
};

}  // namespace

Result<void> Session::Evaluate(std::span<const int32_t> ids, const LogitsCallback& logits,
                               const EvaluateOptions& options) {
  return Evaluation(*impl_, logits, options).Run(ids);
}

}  // namespace hexlane
