// Perplexity as llama.cpp's perplexity tool counts it, so that figures compare: windows of n
// tokens, each from an empty cache, the second half of each scored; where the tokenizer adds a BOS
// it replaces each window's first token.
#include <chrono>
#include <cmath>

#include "compiler/stage_run.h"
#include "hexlane/engine.h"
#include "hexlane/interrupt.h"
#include "interp/decoder_run.h"
#include "kernels/sample/softmax.h"
#include "runtime/tokenizer/tokenizer.h"

namespace hexlane {
namespace {

using Windows = std::vector<std::vector<int32_t>>;

Result<Windows> ReadWindows(const EvalOptions& options) {
  if (options.window < 4) return Usage("a window of {} tokens", options.window).Want("at least 4");
  const auto tokenizer = TRY(OpenTokenizer(options.source.path));
  const std::vector<int32_t> ids = tokenizer->Encode(TRY(ReadTextFile(options.text)));
  const auto width = static_cast<size_t>(options.window);
  Windows windows;
  for (size_t begin = 0; begin + width <= ids.size(); begin += width) {
    if (options.max_windows > 0 && windows.size() == static_cast<size_t>(options.max_windows))
      break;
    windows.emplace_back(ids.begin() + static_cast<ptrdiff_t>(begin),
                         ids.begin() + static_cast<ptrdiff_t>(begin + width));
    if (!tokenizer->prefix_ids().empty()) windows.back()[0] = tokenizer->prefix_ids()[0];
  }
  if (windows.empty()) {
    return InvalidInput("'{}' is too short", options.text.string())
        .Want("at least one window of {} tokens", options.window)
        .Got("{}", ids.size())
        .Remedy("Use a longer text or a smaller --window");
  }
  return windows;
}

// Adds up the negative log likelihood of the tokens that are scored.
class Score {
 public:
  // `logits` follow the token at `position` of `window`.
  void Add(std::span<const int32_t> window, size_t position, std::span<const float> logits) {
    if (position < window.size() / 2 || position + 1 >= window.size()) return;
    sum_ += NegativeLogLikelihood(logits, window[position + 1]);
    ++count_;
  }
  int64_t count() const { return count_; }
  double perplexity() const { return std::exp(sum_ / static_cast<double>(count_)); }

 private:
  double sum_ = 0;
  int64_t count_ = 0;
};

class Evaluator {
 public:
  Evaluator(const EvalOptions& options, StageRunner& runner, const Windows& windows)
      : options_(options), runner_(runner), windows_(windows) {}

  Result<Score> Run() {
    if (options_.stage == Stage::kFloat) return Interpret(UnitsOf(TRY(runner_.decoder())));
    if (runner_.package() == nullptr) {
      return Usage("stage '{}' needs a package", StageName(options_.stage))
          .Remedy("Make one with: hexlane convert");
    }
    if (options_.stage == Stage::kQuant)
      return Interpret(UnitsOf(TRY(OpenPackage(options_.source.path))));
    const bool htp = options_.stage == Stage::kHtp;
    if (!htp) TRY(CheckWindow());
    const auto path =
        htp ? TRY(runner_.VerificationPackage(nullptr, options_.window)) : options_.source.path;
    return RunEngine(path, htp ? "htp" : "cpu");
  }

 private:
  Result<void> CheckWindow() const {
    if (options_.window <= runner_.context()) return {};
    return InvalidInput("a window of {} tokens does not fit the package's context", options_.window)
        .At("{}", options_.source.path.string())
        .Want("at most {}", runner_.context())
        .Remedy("Use --window {}, or convert the model with a larger --context", runner_.context());
  }

  void Report(double fraction, std::string_view what) const {
    if (options_.source.progress) options_.source.progress(fraction, what);
  }

  Result<Score> Interpret(const UnitSource& units) {
    DecoderRun run(windows_);
    Score score;
    const auto take = [&](size_t index, std::vector<float> logits) -> Result<void> {
      const auto vocab = static_cast<size_t>(runner_.vocab());
      for (size_t row = 0; row < windows_[index].size(); ++row)
        score.Add(windows_[index], row, std::span(logits).subspan(row * vocab, vocab));
      return {};
    };
    for (int i = 0; i < units.count; ++i) {
      Report(static_cast<double>(i) / units.count, fmt::format("unit {}/{}", i + 1, units.count));
      const Graph unit = TRY(units.load(i));
      TRY(run.Advance(unit,
                      {.fake_quantise = options_.stage == Stage::kQuant, .pool = &runner_.pool()},
                      {}, i == units.count - 1 ? take : DecoderRun::Sink()));
    }
    return score;
  }

  Result<Score> RunEngine(const std::filesystem::path& package, const std::string& backend) {
    const auto engine =
        TRY(Engine::Open(package, {.backend = backend,
                                   .threads = options_.source.threads,
                                   .vendor_library = options_.source.vendor_library}));
    const auto session = TRY(engine->NewSession());
    Score score;
    for (size_t i = 0; i < windows_.size(); ++i) {
      TRY(CheckInterrupt());
      Report(static_cast<double>(i) / static_cast<double>(windows_.size()),
             fmt::format("window {}/{}", i + 1, windows_.size()));
      session->Reset();
      TRY(session->Evaluate(windows_[i], [&](int64_t position, std::span<const float> logits) {
        score.Add(windows_[i], static_cast<size_t>(position), logits);
      }));
    }
    return score;
  }

  const EvalOptions& options_;
  StageRunner& runner_;
  const Windows& windows_;
};

}  // namespace

Result<EvalReport> Evaluate(const EvalOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  const auto runner = TRY(StageRunner::Open(options.source));
  const Windows windows = TRY(ReadWindows(options));
  const Score score = TRY(Evaluator(options, *runner, windows).Run());
  if (!std::isfinite(score.perplexity())) {
    return InvalidInput("the model's logits are not finite numbers")
        .At("{}, stage {}", options.source.path.string(), StageName(options.stage))
        .Remedy("hexlane verify says which layer goes wrong");
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  return EvalReport{.perplexity = score.perplexity(),
                    .tokens = score.count(),
                    .windows = static_cast<int>(windows.size()),
                    .seconds = seconds.count(),
                    .stage = std::string(StageName(options.stage))};
}

}  // namespace hexlane
