// Perplexity as llama.cpp's perplexity tool counts it, so that figures compare: windows of n
// tokens, each from an empty cache, the second half of each scored; where the tokenizer adds a BOS
// it replaces each window's first token. Another stage can be run beside, over the same tokens.
#include <chrono>
#include <cmath>

#include "compiler/logits.h"
#include "compiler/reference.h"
#include "compiler/text_comparison.h"
#include "kernels/sample/softmax.h"
#include "runtime/tokenizer/tokenizer.h"

namespace hexlane {
namespace {

Result<ScoredSequences> ReadWindows(const EvalOptions& options) {
  if (options.window < 4) return Usage("a window of {} tokens", options.window).Want("at least 4");
  const auto tokenizer = TRY(OpenTokenizer(options.source.path));
  const std::vector<int32_t> ids = tokenizer->Encode(TRY(ReadTextFile(options.text)));
  const auto width = static_cast<size_t>(options.window);
  ScoredSequences windows;
  for (size_t begin = 0; begin + width <= ids.size(); begin += width) {
    if (options.max_windows > 0 && windows.size() == static_cast<size_t>(options.max_windows))
      break;
    const auto first = ids.begin() + static_cast<ptrdiff_t>(begin);
    windows.push_back({{first, first + options.window}, width / 2});
    if (!tokenizer->prefix_ids().empty()) windows.back().ids[0] = tokenizer->prefix_ids()[0];
  }
  if (windows.empty()) {
    return InvalidInput("'{}' is too short", options.text.string())
        .Want("at least one window of {} tokens", options.window)
        .Got("{}", ids.size())
        .Remedy("Use a longer text or a smaller --window");
  }
  return windows;
}

Result<std::optional<Stage>> ReferenceStage(const EvalOptions& options) {
  if (!options.reference.empty() && options.against.value_or(Stage::kFloat) != Stage::kFloat) {
    return Usage("a reference file holds the float stage")
        .Got("a comparison with {}", StageName(*options.against))
        .Remedy("Leave one option out");
  }
  if (!options.reference.empty()) return Stage::kFloat;
  if (options.against && *options.against != Stage::kFloat && *options.against != Stage::kQuant) {
    return Usage("nothing is compared with stage '{}'", StageName(*options.against))
        .Want("float or quant");
  }
  return options.against;
}

class Evaluator {
 public:
  Evaluator(const EvalOptions& options, StageRunner& runner, const ScoredSequences& windows)
      : options_(options), runner_(runner), windows_(windows) {}

  Result<EvalReport> Run() {
    if (options_.stage == Stage::kCpu && runner_.package() != nullptr) TRY(CheckWindow());
    const std::optional<Stage> against = TRY(ReferenceStage(options_));
    TRY(runner_.CheckHasPackage(options_.stage));
    if (against) reference_ = TRY(MakeReference(*against));
    RangeWatch watch = runner_.WatchFor(Ids());
    InterpretedLogits::Options interpreted = Interpreted(options_.stage);
    if (options_.stage == Stage::kQuant)
      interpreted.observer = [&](const Value& value, std::span<const float> values) {
        watch.See(value, values);
      };
    TRY(ForEachScored(runner_, options_.source, interpreted, windows_,
                      [&](size_t window, size_t position, std::span<const float> logits) {
                        return Score(window, position, logits);
                      }));
    EvalReport report{.perplexity = std::exp(-sum_ / static_cast<double>(count_)),
                      .tokens = count_,
                      .windows = static_cast<int>(windows_.size()),
                      .stage = std::string(StageName(options_.stage)),
                      .warnings = watch.Warnings()};
    TRY(CheckFinite(report.perplexity, options_.stage));
    if (!against) return report;
    report.against = comparison_.Summary();
    report.against->stage = StageName(*against);
    TRY(CheckFinite(report.against->perplexity, *against));
    return report;
  }

 private:
  Result<void> CheckWindow() const {
    if (options_.window <= runner_.context()) return {};
    return InvalidInput("a window of {} tokens does not fit the package's context", options_.window)
        .At("{}", options_.source.path.string())
        .Want("at most {}", runner_.context())
        .Remedy("Use --window {}, or convert the model with a larger --context", runner_.context());
  }

  Result<void> CheckFinite(double perplexity, Stage stage) const {
    if (std::isfinite(perplexity)) return {};
    return InvalidInput("the model's logits are not finite numbers")
        .At("{}, stage {}", options_.source.path.string(), StageName(stage))
        .Remedy("hexlane verify says which layer goes wrong");
  }

  std::vector<std::vector<int32_t>> Ids() const {
    std::vector<std::vector<int32_t>> ids;
    for (const ScoredSequence& window : windows_) ids.push_back(window.ids);
    return ids;
  }

  InterpretedLogits::Options Interpreted(Stage stage) const {
    return {.stage = stage, .progress = options_.source.progress};
  }

  Result<std::unique_ptr<Reference>> MakeReference(Stage stage) {
    const auto compute = [&]() -> Result<std::unique_ptr<Reference>> {
      auto logits = TRY(InterpretedLogits::Create(runner_, windows_, Interpreted(stage)));
      return std::make_unique<ComputedReference>(std::move(logits), windows_);
    };
    if (options_.reference.empty()) return compute();
    const Json identity =
        ReferenceIdentity(TRY(runner_.CheckpointRecords()), runner_.vocab(), windows_);
    if (!std::filesystem::exists(options_.reference)) {
      const auto computed = TRY(compute());
      TRY(ReferenceFile::Write(options_.reference, identity, windows_, *computed));
    }
    return TRY(ReferenceFile::Open(options_.reference, identity, windows_));
  }

  Result<void> Score(size_t window, size_t position, std::span<const float> logits) {
    const double likelihood = -NegativeLogLikelihood(logits, windows_[window].target(position));
    sum_ += likelihood;
    ++count_;
    if (!reference_) return {};
    const ReferenceRow row = TRY(reference_->Row(window, position));
    comparison_.Add({.kl = KlDivergence(logits, row.logits),
                     .log_likelihood = likelihood,
                     .reference_log_likelihood = row.log_likelihood,
                     .same_best = ArgMax(logits) == row.best});
    return {};
  }

  const EvalOptions& options_;
  StageRunner& runner_;
  const ScoredSequences& windows_;
  std::unique_ptr<Reference> reference_;  // null: no comparison
  TextComparisonSum comparison_;
  double sum_ = 0;  // of log-likelihoods
  int64_t count_ = 0;
};

}  // namespace

Result<EvalReport> Evaluate(const EvalOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  const auto runner = TRY(StageRunner::Open(options.source));
  const ScoredSequences windows = TRY(ReadWindows(options));
  EvalReport report = TRY(Evaluator(options, *runner, windows).Run());
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  report.seconds = seconds.count();
  return report;
}

}  // namespace hexlane
