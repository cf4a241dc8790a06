// Two verdicts kept apart. Faithful: does what we built (QNN graph, its binary, the CPU package)
// compute what the quantised model means? Loss: how far is the quantised model from the float one?
#include <algorithm>

#include "base/finite.h"
#include "compiler/compare.h"
#include "compiler/stage_run.h"
#include "hexlane/engine.h"
#include "kernels/sample/softmax.h"
#include "runtime/tokenizer/tokenizer.h"

namespace hexlane {
namespace {

constexpr std::string_view kText =
    "The sun had just risen over the harbour when the first boats came in. Anna counted 14 of them "
    "and wrote the "
    "number in her book. \"Why do you do that every day?\" asked her brother. She smiled: because "
    "one day, she said, "
    "somebody will want to know how many fish the sea gave us in the year 1923.";
constexpr std::string_view kQuestion = "What is the capital of France? Answer in one sentence.";
// A first different token is still agreement where the reference itself can hardly tell the two
// apart.
constexpr double kTieMargin = 0.1;

std::string ChatMessages(std::string_view question) {
  return Json::array({{{"role", "user"}, {"content", question}}}).dump();
}

class Verifier {
 public:
  Verifier(const VerifyOptions& options, StageRunner& runner)
      : options_(options), runner_(runner) {}

  Result<VerifyReport> Run() {
    const std::vector<int32_t> ids = TRY(Tokens());
    report_.tokens = static_cast<int>(ids.size());
    Say(0.0, "float");
    const UnitValues reference = TRY(runner_.Run(Stage::kFloat, ids));
    Say(0.1, "quant");
    RangeWatch watch = runner_.WatchFor({ids});
    const auto see = [&](const Value& value, std::span<const float> v) { watch.See(value, v); };
    const UnitValues quant = TRY(runner_.Run(Stage::kQuant, ids, see));
    report_.warnings = watch.Warnings();
    Compare("quant", quant, "float", reference);
    if (HasHtp()) {
      Say(0.2, "htp");
      const StageRunner::EmulatorRun emulator = TRY(runner_.RunEmulator(ids));
      Compare("htp", emulator.in_memory, "quant", quant);
      if (!emulator.reloaded.empty())
        Compare("htp-binary", emulator.reloaded, "htp", emulator.in_memory);
    }
    Say(0.7, "cpu");
    const UnitValues cpu = TRY(runner_.Run(Stage::kCpu, ids));
    Compare("cpu", cpu, "quant", quant);
    if (options_.greedy_tokens > 0) TRY(CompareGreedy());
    Judge();
    return std::move(report_);
  }

 private:
  void Say(double fraction, std::string_view what) const {
    if (options_.source.progress) options_.source.progress(fraction, what);
  }

  bool HasHtp() const {
    const auto& variants = runner_.package()->plan().variants;
    return std::any_of(variants.begin(), variants.end(),
                       [](const Variant& v) { return !v.soc.empty(); });
  }

  Result<std::vector<int32_t>> Tokens() const {
    const auto tokenizer = TRY(OpenTokenizer(options_.source.path));
    std::vector<int32_t> ids = tokenizer->Encode(options_.text.empty() ? kText : options_.text);
    int limit = options_.max_tokens;
    for (const Variant& variant : runner_.package()->plan().variants)
      limit = std::min(limit, variant.stages.back().rows);
    if (static_cast<int>(ids.size()) > limit) ids.resize(static_cast<size_t>(limit));
    if (ids.size() < 2)
      return InvalidInput("the text has {} tokens", ids.size()).Want("at least 2");
    return ids;
  }

  void Compare(std::string_view stage, const UnitValues& values, std::string_view against,
               const UnitValues& reference) {
    const int count = runner_.unit_count();
    for (int unit = 0; unit < runner_.run_count(); ++unit) {
      const auto& mine = values[static_cast<size_t>(unit)];
      const auto& theirs = reference[static_cast<size_t>(unit)];
      if (mine.empty()) continue;  // the backend does not show this value
      if (!AllFinite(mine))
        report_.warnings.push_back(
            fmt::format("{} of {} is NaN or infinite", UnitValueName(unit, count), stage));
      report_.layers.push_back({.index = unit,
                                .name = UnitValueName(unit, count),
                                .stage = std::string(stage),
                                .against = std::string(against),
                                .cosine = Cosine(mine, theirs),
                                .snr_db = SnrDb(mine, theirs)});
    }
    const auto& last = values.back();
    StageComparison whole{.name = std::string(stage),
                          .against = std::string(against),
                          .cosine = Cosine(last, reference.back()),
                          .max_rel_error = MaxRelativeError(last, reference.back()),
                          .snr_db = SnrDb(last, reference.back())};
    if (runner_.has_logits()) whole.top1 = Top1Agreement(last, reference.back(), runner_.vocab());
    report_.stages.push_back(std::move(whole));
  }

  void Judge() {
    for (const LayerComparison& layer : report_.layers) {
      const bool loss = layer.stage == "quant";
      const double least = loss ? options_.max_loss : options_.min_faithful;
      auto& first = loss ? report_.first_loss_failure : report_.first_failure;
      if (!(layer.cosine >= least) && !first) first = layer;  // NaN fails
    }
    report_.faithful = !report_.first_failure;
    report_.loss_ok = !report_.first_loss_failure;
    for (const GreedyComparison& greedy : report_.greedy) report_.faithful &= greedy.agrees;
  }

  // Engines that run the package: its CPU variant, and an emulator variant where it has one.
  Result<void> CompareGreedy() {
    std::vector<std::pair<std::string, std::string>> engines = {{"cpu", "cpu"}};
    for (const Variant& variant : runner_.package()->plan().variants)
      if (variant.name.ends_with("-emulator")) engines.push_back({"htp", variant.name});
    for (const auto& [stage, variant] : engines) {
      Say(0.8, fmt::format("{} tokens on {}", options_.greedy_tokens, variant));
      const GreedyComparison result = TRY(Greedy(stage, variant));
      report_.greedy.push_back(result);
    }
    return {};
  }

  Result<GreedyComparison> Greedy(const std::string& stage, const std::string& variant) {
    const auto engine =
        TRY(Engine::Open(options_.source.path, {.backend = variant,
                                                .threads = options_.source.threads,
                                                .check_files = false,
                                                .vendor_library = options_.source.vendor_library}));
    const std::string_view question =
        options_.greedy_prompt.empty() ? kQuestion : options_.greedy_prompt;
    const auto rendered = engine->RenderChat(ChatMessages(question));
    const std::string prompt = rendered ? *rendered : std::string(question);
    std::vector<int32_t> ids =
        TRY(engine->Encode(prompt, {.add_special_tokens = !rendered.has_value()}));
    const auto session = TRY(engine->NewSession());
    GenerateOptions generate;
    generate.max_tokens = options_.greedy_tokens;
    generate.ignore_eos = true;
    const GenerateResult generated = TRY(session->Generate(ids, generate));
    GreedyComparison comparison{.stage = stage, .tokens = generated.tokens, .agrees = true};
    const size_t prompt_size = ids.size();
    ids.insert(ids.end(), generated.tokens.begin(), generated.tokens.end());
    const UnitValues reference = TRY(runner_.Run(Stage::kQuant, ids));
    const auto vocab = static_cast<size_t>(runner_.vocab());
    for (size_t i = 0; i < generated.tokens.size() && comparison.first_difference < 0; ++i) {
      const auto row = std::span(reference.back()).subspan((prompt_size - 1 + i) * vocab, vocab);
      const int32_t best = ArgMax(row);
      if (best == generated.tokens[i]) continue;
      comparison.first_difference = static_cast<int>(i);
      comparison.margin =
          double{row[static_cast<size_t>(best)]} - row[static_cast<size_t>(generated.tokens[i])];
      comparison.agrees = comparison.margin <= kTieMargin;
    }
    return comparison;
  }

  const VerifyOptions& options_;
  StageRunner& runner_;
  VerifyReport report_;
};

Result<void> CheckLayers(const VerifyOptions& options, const Package& package) {
  const int layers = package.plan().model.layers;
  if (options.layers > layers)
    return Usage("{} layers", options.layers).Want("at most the model's {}", layers);
  if (options.layers > 0 && options.greedy_tokens > 0)
    return Usage("tokens cannot be compared with some of the layers")
        .Remedy("Leave one option out");
  return {};
}

}  // namespace

Result<VerifyReport> VerifyModel(const VerifyOptions& options) {
  const auto runner = TRY(StageRunner::Open(options.source));
  if (runner->package() == nullptr) {
    return Usage("verify needs a package")
        .Got("the checkpoint '{}'", options.source.path.string())
        .Remedy("Make one with: hexlane convert");
  }
  TRY(CheckLayers(options, *runner->package()));
  if (options.layers > 0) runner->LimitLayers(options.layers);
  return Verifier(options, *runner).Run();
}

}  // namespace hexlane
