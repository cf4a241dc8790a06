#include "backends/conformance/conformance.h"

#include <algorithm>
#include <cmath>

namespace hexlane {
namespace {

using State = std::unique_ptr<ExecutorState>;
using Row = std::vector<float>;

// Runs the subject's test sequence: token t has id (5 t + 1) mod vocab, or a hidden row of small
// values made from it.
class Runner {
 public:
  explicit Runner(const ConformanceSubject& subject)
      : subject_(subject), model_(subject.package->plan().model) {}

  Result<State> NewState() const { return subject_.executor->NewState(); }
  void Release() const { subject_.executor->Release(); }
  int tokens() const { return subject_.tokens; }
  bool is_logits() const { return subject_.part->output == "logits"; }
  const std::vector<StageShape>& stages() const { return subject_.variant->stages; }

  // The fewest-row stage that can hold the whole sequence: single rows, where the variant has them.
  StageShape single() const {
    for (const StageShape& stage : stages())
      if (stage.past() + 1 >= tokens()) return stage;
    return stages().front();
  }

  RunArgs Args(StageShape stage, int first, int rows, int shift = 0) {
    ids_.clear();
    input_.clear();
    for (int token = first; token < first + rows; ++token) {
      ids_.push_back((5 * (token + shift) + 1) % model_.vocab);
      for (int i = 0; i < model_.hidden; ++i)
        input_.push_back(std::sin(0.1f * static_cast<float>((i + 1) * (ids_.back() + 1))));
    }
    output_.assign(static_cast<size_t>(is_logits() ? model_.vocab : rows * model_.hidden), -1.0f);
    RunArgs args{.stage = stage, .rows = rows, .past_len = first};
    subject_.part->input == "ids" ? void(args.ids = ids_) : void(args.input = input_);
    args.output = output_;
    return args;
  }

  // Runs tokens [first, first + rows) at their positions and gives the last row.
  Result<Row> Run(ExecutorState& state, StageShape stage, int first, int rows, int shift = 0) {
    TRY(subject_.executor->Run(state, Args(stage, first, rows, shift)));
    const size_t width = static_cast<size_t>(is_logits() ? model_.vocab : model_.hidden);
    return Row(output_.end() - static_cast<std::ptrdiff_t>(width), output_.end());
  }

  // Tokens [first, last) one by one.
  Result<Row> RunSingly(ExecutorState& state, int first, int last, int shift = 0) {
    Row row;
    for (int token = first; token < last; ++token) row = TRY(Run(state, single(), token, 1, shift));
    return row;
  }

  // Tokens [0, tokens) in chunks of the stage's rows.
  Result<Row> RunChunked(ExecutorState& state, StageShape stage) {
    Row row;
    for (int first = 0; first < tokens(); first += stage.rows)
      row = TRY(Run(state, stage, first, std::min(stage.rows, tokens() - first)));
    return row;
  }

  Result<Row> RunAllLogits(ExecutorState& state, StageShape stage, int rows) {
    RunArgs args = Args(stage, 0, rows);
    output_.assign(static_cast<size_t>(rows * model_.vocab), -1.0f);
    args.output = output_;
    args.all_logits = true;
    TRY(subject_.executor->Run(state, args));
    return output_;
  }

  Result<void> RunRaw(ExecutorState& state, const RunArgs& args) {
    return subject_.executor->Run(state, args);
  }

  bool Same(const Row& a, const Row& b) const { return Difference(a, b) <= subject_.tolerance; }
  // Largest difference relative to the largest value.
  static float Difference(const Row& a, const Row& b) {
    if (a.size() != b.size() || a.empty()) return INFINITY;
    float largest = 0, difference = 0;
    for (size_t i = 0; i < a.size(); ++i) {
      if (!std::isfinite(a[i]) || !std::isfinite(b[i])) return INFINITY;
      largest = std::max(largest, std::abs(a[i]));
      difference = std::max(difference, std::abs(a[i] - b[i]));
    }
    return largest > 0 ? difference / largest : difference;
  }

 private:
  const ConformanceSubject& subject_;
  const ModelShape& model_;
  std::vector<int32_t> ids_;
  std::vector<float> input_;
  std::vector<float> output_;
};

Result<void> Expect(const Runner& runner, const Row& want, const Row& got, std::string_view what) {
  if (runner.Same(want, got)) return {};
  return CheckFailed("{}", what).Got("a difference of {}", Runner::Difference(want, got));
}

Result<void> CheckStages(Runner& runner) {
  const State state = TRY(runner.NewState());
  const Row want = TRY(runner.RunSingly(*state, 0, runner.tokens()));
  for (const StageShape& stage : runner.stages()) {
    if (stage.past() + 1 < runner.tokens()) continue;  // cannot hold the sequence
    const State fresh = TRY(runner.NewState());
    TRY(Expect(runner, want, TRY(runner.RunChunked(*fresh, stage)), stage.name()));
  }
  return {};
}

Result<void> CheckPast(Runner& runner) {
  const int last = runner.tokens() - 1;
  const State state = TRY(runner.NewState());
  const Row want = TRY(runner.RunSingly(*state, 0, last + 1));
  TRY(runner.RunSingly(*state, 0, last, /*shift=*/1));  // another past, the same last token
  const Row got = TRY(runner.RunSingly(*state, last, last + 1));
  if (!runner.is_logits() || Runner::Difference(want, got) > 0) return {};
  return CheckFailed("another past gives the same logits");
}

Result<void> CheckRewind(Runner& runner) {
  const State state = TRY(runner.NewState());
  const Row want = TRY(runner.RunSingly(*state, 0, runner.tokens()));
  TRY(runner.RunSingly(*state, 2, runner.tokens(), /*shift=*/3));
  const Row got = TRY(runner.RunSingly(*state, 2, runner.tokens()));
  return Expect(runner, want, got, "running again from position 2 differs");
}

// One valid row in the largest stage, then the rest singly: the unused rows must not show.
Result<void> CheckPadding(Runner& runner) {
  const State state = TRY(runner.NewState());
  const Row want = TRY(runner.RunSingly(*state, 0, runner.tokens()));
  const State padded = TRY(runner.NewState());
  TRY(runner.RunChunked(*padded, runner.stages().back()));  // leaves rows behind
  TRY(runner.Run(*padded, runner.stages().back(), 0, 1));
  const Row got = TRY(runner.RunSingly(*padded, 1, runner.tokens()));
  return Expect(runner, want, got, "unused rows show");
}

Result<void> CheckStates(Runner& runner) {
  const State a = TRY(runner.NewState());
  const Row want = TRY(runner.RunSingly(*a, 0, runner.tokens()));
  const State b = TRY(runner.NewState());
  const State other = TRY(runner.NewState());
  Row got;
  for (int token = 0; token < runner.tokens(); ++token) {
    got = TRY(runner.RunSingly(*b, token, token + 1));
    TRY(runner.RunSingly(*other, token, token + 1, /*shift=*/1));
  }
  return Expect(runner, want, got, "a second state disturbs the first");
}

Result<void> CheckRelease(Runner& runner) {
  const State state = TRY(runner.NewState());
  const Row want = TRY(runner.RunSingly(*state, 0, runner.tokens()));
  const State other = TRY(runner.NewState());
  TRY(runner.RunSingly(*other, 0, 2));
  runner.Release();
  const Row got = TRY(runner.RunSingly(*other, 2, runner.tokens()));
  return Expect(runner, want, got, "a run after Release differs");
}

Result<void> CheckAllLogits(Runner& runner) {
  const StageShape stage = runner.stages().back();
  const int rows = std::min(stage.rows, runner.tokens());
  const State state = TRY(runner.NewState());
  if (!runner.is_logits()) return {};
  const Result<Row> all = runner.RunAllLogits(*state, stage, rows);
  if (!all && all.error().code == Code::kUnsupported) return {};
  if (!all) return Failure(all.error());
  const size_t vocab = all->size() / static_cast<size_t>(rows);
  const State fresh = TRY(runner.NewState());
  for (int row = 0; row < rows; ++row) {
    const auto begin = all->begin() + static_cast<std::ptrdiff_t>(vocab) * row;
    const Row want = TRY(runner.RunSingly(*fresh, row, row + 1));
    TRY(Expect(runner, want, Row(begin, begin + static_cast<std::ptrdiff_t>(vocab)),
               fmt::format("logits of row {}", row)));
  }
  return {};
}

std::vector<std::pair<std::string_view, RunArgs>> BadArgs(Runner& runner) {
  const StageShape stage = runner.stages().back();
  const RunArgs good = runner.Args(stage, 0, stage.rows);
  std::vector<std::pair<std::string_view, RunArgs>> cases;
  const auto add = [&](std::string_view what, auto change) {
    cases.emplace_back(what, good);
    change(cases.back().second);
  };
  add("rows = 0", [](RunArgs& a) { a.rows = 0; });
  add("too many rows", [](RunArgs& a) { a.rows = a.stage.rows + 1; });
  add("negative past_len", [](RunArgs& a) { a.past_len = -1; });
  add("past_len past the cache", [](RunArgs& a) { a.past_len = a.stage.past() + 1; });
  add("an unknown stage", [](RunArgs& a) { a.stage.context += 1; });
  add("no input", [](RunArgs& a) { a.ids = {}, a.input = {}; });
  add("a short output", [](RunArgs& a) { a.output = a.output.first(a.output.size() - 1); });
  return cases;
}

Result<void> CheckRefusal(Runner& runner) {
  const State state = TRY(runner.NewState());
  const Row want = TRY(runner.RunSingly(*state, 0, runner.tokens()));
  TRY(runner.RunSingly(*state, 0, runner.tokens() - 1));
  for (const auto& [what, args] : BadArgs(runner)) {
    const Result<void> result = runner.RunRaw(*state, args);
    if (!result && result.error().code == Code::kInvalidInput) continue;
    return CheckFailed("{} was not refused as invalid input", what);
  }
  const Row got = TRY(runner.RunSingly(*state, runner.tokens() - 1, runner.tokens()));
  return Expect(runner, want, got, "a refused run changed the state");
}

struct Rule {
  std::string_view name;
  Result<void> (*check)(Runner&);
};
constexpr Rule kRules[] = {
    {"stages", CheckStages},   {"past", CheckPast},     {"rewind", CheckRewind},
    {"padding", CheckPadding}, {"states", CheckStates}, {"release", CheckRelease},
    {"refusal", CheckRefusal}, {"all", CheckAllLogits},
};

}  // namespace

std::vector<std::string> Conformance(const ConformanceSubject& subject) {
  std::vector<std::string> complaints;
  Runner runner(subject);
  for (const Rule& rule : kRules) {
    const Result<void> result = rule.check(runner);
    if (!result) complaints.push_back(fmt::format("{}: {}", rule.name, result.error().ToString()));
  }
  return complaints;
}

}  // namespace hexlane
