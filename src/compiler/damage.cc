#include "compiler/damage.h"

#include <algorithm>

#include "compiler/head_inputs.h"
#include "hexlane/interrupt.h"
#include "interp/decoder_run.h"
#include "kernels/sample/softmax.h"
#include "quant/calibrate.h"
#include "quant/matrix_scheme.h"
#include "quant/quantize_tensor.h"
#include "quant/quantize_unit.h"

namespace hexlane {
namespace {

using Windows = std::vector<std::vector<int32_t>>;
// Hidden states by window, [rows, hidden]; empty before the first unit.
using States = std::vector<std::vector<float>>;

size_t TokensOf(const Windows& windows) {
  size_t tokens = 0;
  for (const auto& window : windows) tokens += window.size();
  return tokens;
}

// Runs all of `batch`, which stand before `unit`, through it.
Result<void> Advance(const Graph& unit, const Windows& windows, std::span<States* const> batch,
                     const InterpreterOptions& options) {
  if (batch.empty()) return {};
  Windows ids;
  States hidden;
  for (States* states : batch) {
    for (size_t w = 0; w < windows.size(); ++w) {
      ids.push_back(windows[w]);
      hidden.push_back(states->empty() ? std::vector<float>() : std::move((*states)[w]));
    }
    states->resize(windows.size());
  }
  DecoderRun run(std::move(ids));
  run.Restore(std::move(hidden));
  TRY(run.Advance(unit, options));
  for (size_t i = 0; i < run.size(); ++i) {
    const std::span<const float> state = run.hidden(i);
    (*batch[i / windows.size()])[i % windows.size()].assign(state.begin(), state.end());
  }
  return {};
}

bool Changes(const Candidate& candidate, const Graph& unit) {
  return std::ranges::any_of(unit.nodes(), [&](const Node& node) {
    return HasMatrix(node) && candidate.matrices.contains(unit.value(node.inputs[1]).name);
  });
}

Result<Graph> Changed(const Graph& unit, const Candidate& candidate, ThreadPool& pool) {
  Graph changed = unit;
  for (const Node& node : unit.nodes()) {
    if (!HasMatrix(node)) continue;
    Value& weight = changed.value(node.inputs[1]);
    const auto form = candidate.matrices.find(weight.name);
    if (form == candidate.matrices.end()) continue;
    const TensorView exact = unit.value(node.inputs[1]).constant->view();
    weight.constant = TRY(QuantizeTensor(exact, form->second, weight.name, &pool)).tensor;
  }
  return changed;
}

// Matrices that products would have to turn into floats for each candidate anew.
void Decode(Graph& unit) {
  for (const Node& node : unit.nodes()) {
    if (node.op != OpKind::kLinear) continue;
    Value& weight = unit.value(node.inputs[1]);
    if (!weight.constant || weight.constant->view().scheme == Scheme::kPlain) continue;
    weight.constant = Tensor::FromFloats(ToFloats(weight.constant->view()), weight.shape);
  }
}

double SquaredNorm(std::span<const float> x) {
  double sum = 0;
  for (const float value : x) sum += double{value} * value;
  return sum;
}

double SquaredDistance(std::span<const float> a, std::span<const float> b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += (double{a[i]} - b[i]) * (double{a[i]} - b[i]);
  return sum;
}

// Damage::unit_error
double RelativeError(const Windows& windows, const States& exact, const States& states) {
  double sum = 0;
  for (size_t w = 0; w < windows.size(); ++w) {
    const size_t dim = exact[w].size() / windows[w].size();
    for (size_t row = 0; row < windows[w].size(); ++row) {
      const auto want = std::span(exact[w]).subspan(row * dim, dim);
      const double norm = SquaredNorm(want);
      if (norm > 0)
        sum += SquaredDistance(want, std::span(states[w]).subspan(row * dim, dim)) / norm;
    }
  }
  return sum / static_cast<double>(TokensOf(windows));
}

// Logits of one window at a time.
class Head {
 public:
  Head(Graph graph, const InterpreterOptions& options)
      : graph_(std::move(graph)), interpreter_(graph_, options) {}

  // [rows, vocab]
  Result<std::vector<float>> Logits(const std::vector<int32_t>& ids,
                                    const std::vector<float>& state) {
    DecoderRun run({ids});
    run.Restore({state});
    return run.RunRows(graph_, interpreter_, {0, 0, ids.size()});
  }

 private:
  Graph graph_;
  Interpreter interpreter_;
};

struct Row {
  double kl = 0, error = 0, norm = 0;
};

// Sums over the rows of [rows, vocab].
Row CompareRows(std::span<const float> want, std::span<const float> got, size_t rows,
                ThreadPool& pool) {
  std::vector<Row> all(rows);
  const size_t vocab = want.size() / rows;
  pool.ParallelFor(static_cast<int64_t>(rows), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const auto at = static_cast<size_t>(i) * vocab;
      const auto a = want.subspan(at, vocab), b = got.subspan(at, vocab);
      all[static_cast<size_t>(i)] = {KlDivergence(b, a), SquaredDistance(a, b), SquaredNorm(a)};
    }
  });
  Row sum;
  for (const Row& row : all) sum.kl += row.kl, sum.error += row.error, sum.norm += row.norm;
  return sum;
}

// A candidate on its way through the units.
struct Traveller {
  const Candidate* candidate = nullptr;
  Damage* damage = nullptr;
  States states;
  bool started = false;
  Row sums;  // at the logits

  bool travels() const { return started && !candidate->local; }
};

class Journey {
 public:
  Journey(const Windows& windows, ThreadPool& pool) : windows_(windows), pool_(pool) {}

  void Add(const Candidate& candidate, Damage& damage) {
    travellers_.push_back({&candidate, &damage, {}, false, {}});
  }

  Result<void> Through(Graph unit) {
    TRY(CheckInterrupt());
    Decode(unit);
    const States before = exact_;
    std::vector<States*> batch = {&exact_};
    std::vector<Traveller*> starting;
    for (Traveller& traveller : travellers_) {
      if (Changes(*traveller.candidate, unit)) {
        if (!traveller.started) starting.push_back(&traveller);
        TRY(Change(unit, before, traveller));
      } else if (traveller.travels()) {
        batch.push_back(&traveller.states);
      }
    }
    TRY(Advance(unit, windows_, batch, options()));
    for (Traveller* traveller : starting) Start(*traveller);
    return {};
  }

  Result<void> Finish(Graph unit) {
    Decode(unit);
    Head head(unit, options());
    for (Traveller& traveller : travellers_) {
      if (traveller.started || !Changes(*traveller.candidate, unit)) continue;
      traveller.states = exact_;
      traveller.started = true;
    }
    for (size_t w = 0; w < windows_.size(); ++w) {
      TRY(CheckInterrupt());
      const std::vector<float> want = TRY(head.Logits(windows_[w], exact_[w]));
      for (Traveller& traveller : travellers_)
        if (traveller.travels()) TRY(Compare(unit, head, w, want, traveller));
    }
    for (Traveller& traveller : travellers_) Conclude(traveller);
    return {};
  }

 private:
  InterpreterOptions options() const { return {.pool = &pool_}; }

  // A candidate that stops after this unit need not be kept: its error is all.
  Result<void> Change(const Graph& unit, const States& before, Traveller& traveller) {
    if (traveller.started && traveller.candidate->local) return {};
    if (!traveller.started) traveller.states = before;
    traveller.started = true;
    const Graph changed = TRY(Changed(unit, *traveller.candidate, pool_));
    States* const states = &traveller.states;
    return Advance(changed, windows_, {&states, 1}, options());
  }

  void Start(Traveller& traveller) {
    traveller.damage->unit_error = RelativeError(windows_, exact_, traveller.states);
    if (traveller.candidate->local) traveller.states = {};
  }

  Result<void> Compare(const Graph& unit, Head& head, size_t window, std::span<const float> want,
                       Traveller& traveller) {
    std::vector<float> got;
    if (Changes(*traveller.candidate, unit)) {
      Head changed(TRY(Changed(unit, *traveller.candidate, pool_)), options());
      got = TRY(changed.Logits(windows_[window], traveller.states[window]));
    } else {
      got = TRY(head.Logits(windows_[window], traveller.states[window]));
    }
    const Row row = CompareRows(want, got, windows_[window].size(), pool_);
    Row& sums = traveller.sums;
    sums.kl += row.kl, sums.error += row.error, sums.norm += row.norm;
    return {};
  }

  void Conclude(Traveller& traveller) const {
    if (!traveller.travels()) return;
    traveller.damage->kl = traveller.sums.kl / static_cast<double>(TokensOf(windows_));
    if (traveller.sums.norm > 0)
      traveller.damage->logit_error = traveller.sums.error / traveller.sums.norm;
  }

  const Windows& windows_;
  ThreadPool& pool_;
  States exact_;
  std::vector<Traveller> travellers_;
};

}  // namespace

Result<void> DamageMeter::Sweep(std::span<const Candidate> candidates, std::span<Damage> damages) {
  Journey journey(windows_, pool_);
  for (size_t i = 0; i < candidates.size(); ++i) journey.Add(candidates[i], damages[i]);
  const int head = decoder_.unit_count() - 1;
  for (int unit = 0; unit < head; ++unit) {
    if (progress_)
      progress_(static_cast<double>(unit) / (head + 1),
                fmt::format("{} candidates: unit {}/{}", candidates.size(), unit + 1, head + 1));
    TRY(journey.Through(TRY(decoder_.Build(unit))));
    decoder_.checkpoint().DropPages();
  }
  return journey.Finish(TRY(decoder_.Build(head)));
}

Result<std::vector<Damage>> DamageMeter::Measure(std::span<const Candidate> candidates) {
  const size_t bytes =
      TokensOf(windows_) * static_cast<size_t>(decoder_.config().hidden) * sizeof(float);
  const size_t at_once = std::max<size_t>(1, kStateBytes / bytes);
  std::vector<Damage> damages(candidates.size());
  for (size_t begin = 0; begin < candidates.size();) {
    size_t end = begin, kept = 0;
    while (end < candidates.size() && kept < at_once) kept += !candidates[end++].local;
    TRY(Sweep(candidates.subspan(begin, end - begin),
              std::span(damages).subspan(begin, end - begin)));
    begin = end;
  }
  return damages;
}

namespace {

// Both models over one window.
void AddWindow(std::span<const float> exact, std::span<const float> got,
               const std::vector<int32_t>& ids, TextComparisonSum& sum) {
  const size_t vocab = exact.size() / ids.size();
  for (size_t i = 0; i + 1 < ids.size(); ++i) {
    const auto p = exact.subspan(i * vocab, vocab), q = got.subspan(i * vocab, vocab);
    sum.Add({.kl = KlDivergence(q, p),
             .log_likelihood = -NegativeLogLikelihood(q, ids[i + 1]),
             .reference_log_likelihood = -NegativeLogLikelihood(p, ids[i + 1]),
             .same_best = ArgMax(q) == ArgMax(p)});
  }
}

}  // namespace

Result<TextComparison> DamageMeter::MeasureQuantised(const QuantOptions& options) {
  CHECK(!options.algorithm.rotate && !options.algorithm.migrates());
  Calibrator calibrator(windows_, &pool_);
  const bool follows = options.algorithm.needs_moments();
  const std::optional<Moments> head_inputs =
      TRY(HeadInputs(decoder_, options, windows_, &pool_, {}));
  std::optional<Tensor> table;  // where it is the head's matrix
  const auto quantise = [&](Graph& unit, bool is_last) -> Result<void> {
    MomentsByValue moments;
    if (follows)
      TRY(calibrator.Observe(unit, moments));
    else if (options.needs_ranges())
      TRY(calibrator.Advance(unit, is_last));
    TRY(QuantizeUnit(unit, {.options = options,
                            .ranges = &calibrator.ranges(),
                            .moments = &moments,
                            .head_inputs = head_inputs ? &*head_inputs : nullptr,
                            .table = table && is_last ? &*table : nullptr,
                            .pool = &pool_}));
    if (const ValueId id = unit.Find(kTable); id != kNone && !options.lone_table)
      table = unit.value(id).constant;
    return follows && !is_last ? calibrator.Follow(unit) : Result<void>();
  };
  States exact, states;
  States* const exact_batch = &exact;
  States* const batch = &states;
  const int last = decoder_.unit_count() - 1;
  const InterpreterOptions in_float{.pool = &pool_};
  const InterpreterOptions quantised{.fake_quantise = true, .pool = &pool_};
  for (int index = 0; index < last; ++index) {
    Graph unit = TRY(decoder_.Build(index));
    Decode(unit);
    TRY(Advance(unit, windows_, {&exact_batch, 1}, in_float));
    TRY(quantise(unit, false));
    TRY(Advance(unit, windows_, {&batch, 1}, quantised));
  }
  Graph unit = TRY(decoder_.Build(last));
  Head exact_head(unit, in_float);
  TRY(quantise(unit, true));
  Head head(std::move(unit), quantised);
  TextComparisonSum sum;
  for (size_t w = 0; w < windows_.size(); ++w)
    AddWindow(TRY(exact_head.Logits(windows_[w], exact[w])),
              TRY(head.Logits(windows_[w], states[w])), windows_[w], sum);
  return sum.Summary();
}

}  // namespace hexlane
