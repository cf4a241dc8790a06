// Which matrices of a model can do with few bits: the damage of each alone, and the choice of forms
// that a budget allows.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <set>

#include "base/file.h"
#include "base/memory.h"
#include "compiler/bit_budget.h"
#include "compiler/compare.h"
#include "compiler/damage.h"
#include "compiler/overrides.h"
#include "compiler/quantise.h"
#include "compiler/source.h"
#include "compiler/weight_forms.h"
#include "hexlane/compiler.h"
#include "hexlane/interrupt.h"
#include "quant/calibrate.h"
#include "quant/calibration_text.h"
#include "quant/matrix_scheme.h"

namespace hexlane {
namespace {

constexpr size_t kWindow = 128;  // tokens
// What gptq and search are tried with is seen over at least so many tokens, as far as the text
// goes: fewer than a matrix has columns would fit anything.
constexpr size_t kTokensSeen = 4096;

struct Matrix {
  std::string weight;  // layers.0.q_proj.weight
  std::string unit;    // the first that has it: layers.0
  Shape shape;
  Scheme own = Scheme::kPlain;    // what the scheme alone makes of it
  std::vector<WeightForm> tried;  // one for each of AllForms, as it fits the matrix
  std::vector<double> nearest;    // WeightForm::error of each, rounded to nearest
  std::set<Scheme> refused;       // of AllForms
  size_t judged = 0;              // index of the form whose damage is looked at
  double unit_error = 0;          // Damage::unit_error in that form

  std::string name() const { return weight.substr(0, weight.rfind(".weight")); }
  const WeightForm& judged_form() const { return tried[judged]; }
  bool may_have(std::span<const Scheme> forms, size_t form) const {
    return !refused.contains(forms[form]);
  }
};

// What goes up together: a matrix, or all of a unit.
struct Item {
  std::string name;
  std::vector<Matrix*> matrices;
  Damage damage;  // of all of them in the forms that are judged
  bool measured = true;

  int64_t parameters() const {
    int64_t sum = 0;
    for (const Matrix* matrix : matrices) sum += matrix->shape.elements();
    return sum;
  }
};

double SnrDb(double relative_error) {
  return relative_error > 0 ? std::min(kExactSnrDb, -10 * std::log10(relative_error)) : kExactSnrDb;
}

class Analysis {
 public:
  explicit Analysis(const SensitivityOptions& options)
      : options_(options), pool_(options.threads > 0 ? options.threads : DefaultThreads()) {}

  Result<SensitivityReport> Run() {
    const auto start = std::chrono::steady_clock::now();
    TRY(Open());
    TRY(CollectMatrices());
    TRY(CheckLeastBits());
    TRY(Judge());
    std::ranges::stable_sort(items_, std::greater(), [](const Item& i) { return i.damage.kl; });
    for (const Item& item : items_) report_.ranking.push_back(Describe(item));
    if (options_.max_bits > 0 || options_.max_increase > 0) TRY(Choose());
    report_.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    report_.peak_rss_bytes = PeakRssBytes();
    return std::move(report_);
  }

 private:
  Result<void> Open() {
    TRY(CheckBudget());
    if (!options_.output.empty()) TRY(CheckJsonOutput(options_.output, {"quant", "rules"}));
    decoder_ = TRY(OpenCheckpoint(options_.model));
    quant_.scheme = TRY(FindQuantScheme(options_.scheme));
    if (quant_.scheme->keeps_stored || quant_.scheme->layers == Scheme::kPlain) {
      return Usage("{} rounds no matrix that could be given more bits", quant_.scheme->name)
          .Remedy("Choose a scheme such as w4a16");
    }
    quant_.algorithm = TRY(ParseAlgorithm(options_.algorithm));
    if (quant_.algorithm.rotate || quant_.algorithm.migrates()) {
      return Usage("--algorithm {} changes the matrices themselves", options_.algorithm)
          .Want("rtn, or search, gptq and bias joined by +");
    }
    quant_.lone_table = HasLoneTable(*decoder_, quant_);
    for (const std::string& soc : options_.socs) targets_.push_back(TRY(FindTarget(soc)));
    report_.scheme = quant_.scheme->name;
    tensors_ = TRY(TensorsOf(*decoder_, quant_.algorithm));
    return ReadWindows();
  }

  Result<void> CheckBudget() const {
    const bool bits = options_.max_bits > 0, increase = options_.max_increase > 0;
    if (options_.tokens < 2) return Usage("{} tokens", options_.tokens).Want("at least 2");
    if (bits && increase)
      return Usage("two budgets").Remedy("Give --max-bits or --max-ppl-increase");
    if (bits || increase || options_.output.empty()) return {};
    return Usage("overrides without a budget").Remedy("Add --max-bits or --max-ppl-increase");
  }

  Result<void> ReadWindows() {
    std::string text(DefaultCalibrationText());
    if (!options_.text.empty()) text = TRY(ReadTextFile(options_.text));
    std::vector<int32_t> ids = TRY(OpenTokenizer(options_.model))->Encode(text);
    if (ids.size() < 2) return InvalidInput("'{}' has no tokens", options_.text.string());
    const size_t seen = std::max(kTokensSeen, static_cast<size_t>(options_.tokens));
    seen_windows_ = CalibrationWindows(ids, kWindow, (seen + kWindow - 1) / kWindow);
    ids.resize(std::min(ids.size(), static_cast<size_t>(options_.tokens)));
    windows_ = CalibrationWindows(ids, kWindow, (ids.size() + kWindow - 1) / kWindow);
    for (const auto& window : windows_) report_.tokens += static_cast<int>(window.size());
    return {};
  }

  Result<void> CollectMatrices() {
    const NpuForms npu = TRY(NpuForms::Create(quant_, targets_));
    const bool sees = quant_.algorithm.search || quant_.algorithm.gptq;
    Calibrator seen(seen_windows_, &pool_);
    std::map<std::string, size_t> places;
    for (int index = 0; index < decoder_->unit_count(); ++index) {
      TRY(CheckInterrupt());
      const Graph unit = TRY(decoder_->Build(index));
      MomentsByValue moments;
      if (sees) TRY(seen.Observe(unit, moments));
      TRY(CollectMatrices(unit, moments, places));
      for (const auto& [weight, forms] : TRY(npu.Refused(unit)))
        matrices_[places.at(weight)].refused.insert(forms.begin(), forms.end());
      if (sees && index + 1 < decoder_->unit_count()) TRY(seen.Follow(unit));
      decoder_->checkpoint().DropPages();
    }
    for (Matrix& matrix : matrices_) ChooseJudged(matrix);
    return {};
  }

  // A table that is the head too is tried as the head.
  Result<void> CollectMatrices(const Graph& unit, const MomentsByValue& moments,
                               std::map<std::string, size_t>& places) {
    for (const Node& node : unit.nodes()) {
      if (!HasMatrix(node)) continue;
      const Value& weight = unit.value(node.inputs[1]);
      const auto [place, is_new] = places.emplace(weight.name, matrices_.size());
      if (is_new) {
        matrices_.push_back({.weight = weight.name, .unit = unit.name(), .shape = weight.shape});
        matrices_.back().own = MatrixScheme(unit, node, quant_);
        report_.parameters += weight.shape.elements();
      }
      const auto inputs = moments.find(unit.value(node.inputs[0]).name);
      const Moments* of_inputs = inputs == moments.end() ? nullptr : &inputs->second;
      if (is_new || of_inputs)
        TRY(TryForms(weight.constant->view(), of_inputs, matrices_[place->second]));
    }
    return {};
  }

  Result<void> TryForms(const TensorView& weight, const Moments* inputs, Matrix& matrix) {
    const FormTrials trials = TRY(FormTrials::Create(weight, quant_.algorithm, inputs, &pool_));
    matrix.tried.clear();
    matrix.nearest.clear();
    for (const Scheme form : forms_) {
      const Scheme fitting = WithBlocksThatDivide(form, weight.shape[1]);
      const Result<WeightForm> tried = trials.Try(fitting);
      if (!tried) matrix.refused.insert(form);  // its scales cannot hold the weights
      matrix.tried.push_back(tried ? *tried : WeightForm{.scheme = fitting});
      matrix.nearest.push_back(tried ? TRY(trials.NearestError(fitting)) : 0);
    }
    const auto possible = [&](Scheme form) { return !matrix.refused.contains(form); };
    if (std::ranges::any_of(forms_, possible)) return {};
    return InvalidInput("no form holds the weights: they are not finite, or too large")
        .At("{}: {}", decoder_->checkpoint().where(), matrix.weight)
        .Remedy("The checkpoint is damaged: download it again");
  }

  // The form of the scheme's layers; where it loses nothing of the matrix, the next smaller one
  // that does.
  void ChooseJudged(Matrix& matrix) const {
    const auto own = std::ranges::find(forms_, quant_.scheme->layers) - forms_.begin();
    matrix.judged = static_cast<size_t>(own);
    if (matrix.nearest[matrix.judged] > 0) return;
    const double most = matrix.judged_form().bits;
    for (size_t i = 0; i < forms_.size(); ++i) {
      const bool loses = matrix.nearest[i] > 0 && matrix.tried[i].bits <= most;
      if (!loses || !matrix.may_have(forms_, i)) continue;
      const bool none_yet = matrix.nearest[matrix.judged] == 0;
      if (none_yet || matrix.tried[i].bits > matrix.judged_form().bits) matrix.judged = i;
    }
  }

  Candidate CandidateOf(std::span<Matrix* const> matrices) const {
    Candidate candidate;
    for (const Matrix* matrix : matrices)
      candidate.matrices[matrix->weight] = matrix->judged_form().scheme;
    return candidate;
  }

  std::vector<Item> Units() {
    std::vector<Item> units;
    for (Matrix& matrix : matrices_) {
      if (units.empty() || units.back().name != matrix.unit) units.push_back({matrix.unit, {}, {}});
      units.back().matrices.push_back(&matrix);
    }
    return units;
  }

  // Units as a whole are measured, their matrices share that by what each alone does to the unit's
  // output, and the worst of them are measured too.
  Result<void> Judge() {
    DamageMeter meter = Meter();
    std::vector<Item> units = Units();
    std::vector<Candidate> candidates;
    for (const Item& unit : units) candidates.push_back(CandidateOf(unit.matrices));
    for (Matrix& matrix : matrices_) {
      Matrix* const alone = &matrix;
      if (options_.by_layer) break;
      candidates.push_back(CandidateOf({&alone, 1}));
      candidates.back().local = true;
    }
    const std::vector<Damage> damages = TRY(meter.Measure(candidates));
    for (size_t i = 0; i < units.size(); ++i) units[i].damage = damages[i];
    items_ = std::move(units);
    if (options_.by_layer) return {};
    for (size_t i = 0; i < matrices_.size(); ++i)
      matrices_[i].unit_error = damages[items_.size() + i].unit_error;
    Share();
    return MeasureWorst(meter);
  }

  // From units to single matrices.
  void Share() {
    std::vector<Item> single;
    for (const Item& unit : items_) {
      double sum = 0;
      for (const Matrix* matrix : unit.matrices) sum += matrix->unit_error;
      for (Matrix* matrix : unit.matrices) {
        const bool whole = unit.matrices.size() == 1;
        const double share = whole ? 1 : sum > 0 ? matrix->unit_error / sum : 0;
        single.push_back({matrix->name(), {matrix}, unit.damage, whole});
        single.back().damage.kl *= share;
        single.back().damage.logit_error *= share;
      }
    }
    items_ = std::move(single);
  }

  Result<void> MeasureWorst(DamageMeter& meter) {
    std::vector<Item*> worst;
    for (Item& item : items_)
      if (!item.measured) worst.push_back(&item);
    std::ranges::stable_sort(worst, std::greater(), [](const Item* i) { return i->damage.kl; });
    worst.resize(std::min(worst.size(), static_cast<size_t>(options_.measured)));
    std::vector<Candidate> candidates;
    for (const Item* item : worst) candidates.push_back(CandidateOf(item->matrices));
    const std::vector<Damage> damages = TRY(meter.Measure(candidates));
    for (size_t i = 0; i < worst.size(); ++i) {
      worst[i]->damage = damages[i];
      worst[i]->measured = true;
    }
    return {};
  }

  DamageMeter Meter() const { return {*decoder_, windows_, pool_, options_.progress}; }

  MatrixDamage Describe(const Item& item) const {
    MatrixDamage damage{.name = item.name,
                        .scheme = std::string(WeightsName(item.matrices[0]->judged_form().scheme)),
                        .parameters = item.parameters(),
                        .kl = item.damage.kl,
                        .snr_db = SnrDb(item.damage.logit_error),
                        .measured = item.measured};
    return damage;
  }

  // Divergence goes with the square of a small error; among an item's matrices it is shared out by
  // their sizes.
  Ladder LadderFor(const Item& item) const {
    std::vector<Ladder::Step> steps;
    for (size_t form = 0; form < forms_.size(); ++form) {
      const auto may = [&](const Matrix* matrix) { return matrix->may_have(forms_, form); };
      if (!std::ranges::all_of(item.matrices, may)) continue;
      Ladder::Step step{.form = form};
      for (const Matrix* matrix : item.matrices) {
        const double judged = matrix->nearest[matrix->judged];  // as its damage is measured
        const double share =
            static_cast<double>(matrix->shape.elements()) / static_cast<double>(item.parameters());
        step.bits += matrix->tried[form].bits;
        if (judged > 0) step.damage += item.damage.kl * share * matrix->tried[form].error / judged;
      }
      steps.push_back(step);
    }
    return LadderOf(std::move(steps));
  }

  Result<void> Choose() {
    std::vector<Ladder> ladders;
    for (const Item& item : items_) ladders.push_back(LadderFor(item));
    report_.uniform = TRY(Measure({}));
    const std::vector<size_t> steps =
        options_.max_bits > 0 ? TRY(WithinBits(ladders)) : TRY(WithinIncrease(ladders));
    const std::vector<OverrideRule> rules = RulesFor(FormsAt(ladders, steps));
    report_.mixed = TRY(Measure(rules));
    if (options_.output.empty()) return {};
    return WriteFileAtomically(options_.output, FileOf(rules).dump(1) + "\n");
  }

  // Before anything is measured.
  Result<void> CheckLeastBits() const {
    double bits = 0;
    for (const Matrix& matrix : matrices_) {
      double least = HUGE_VAL;
      for (size_t form = 0; form < forms_.size(); ++form)
        if (matrix.may_have(forms_, form)) least = std::min(least, matrix.tried[form].bits);
      bits += least;
    }
    const double least = bits / static_cast<double>(report_.parameters);
    if (options_.max_bits == 0 || least <= options_.max_bits) return {};
    return InvalidInput(
               "{:.3f} bits per weight are needed with all matrices in their smallest form", least)
        .Got("--max-bits {}", options_.max_bits)
        .Remedy("Allow more bits");
  }

  Result<std::vector<size_t>> WithinBits(std::span<const Ladder> ladders) const {
    const double bits = options_.max_bits * static_cast<double>(report_.parameters);
    if (BitsAt(ladders, std::vector<size_t>(ladders.size())) > bits) {
      return InvalidInput("no layer's forms are small enough together")
          .Got("--max-bits {}", options_.max_bits)
          .Remedy("Allow more bits");
    }
    return StepsWithin(ladders, bits);
  }

  // The fewest upgrades whose measured increase is small enough, by halving.
  Result<std::vector<size_t>> WithinIncrease(std::span<const Ladder> ladders) {
    const std::vector<size_t> order = UpgradeOrder(ladders);
    const auto increase = [&](size_t count) -> Result<double> {
      const auto steps = StepsAfter(order, count, ladders.size());
      return TRY(Measure(RulesFor(FormsAt(ladders, steps)))).log_perplexity_increase;
    };
    const double least = TRY(increase(order.size()));
    if (least > options_.max_increase) {
      return InvalidInput("with every matrix at its most bits the log-perplexity still grows")
          .Want("at most {:.4f} nats", options_.max_increase)
          .Got("{:.4f}", least)
          .Remedy("Allow a larger increase, or measure more --tokens");
    }
    size_t low = 0, high = order.size();  // `high` is good
    while (low < high) {
      const size_t middle = (low + high) / 2;
      if (TRY(increase(middle)) > options_.max_increase)
        low = middle + 1;
      else
        high = middle;
    }
    return StepsAfter(order, high, ladders.size());
  }

  // By item, as an index of forms_.
  static std::vector<size_t> FormsAt(std::span<const Ladder> ladders,
                                     std::span<const size_t> steps) {
    std::vector<size_t> forms;
    for (size_t i = 0; i < steps.size(); ++i) forms.push_back(ladders[i].steps[steps[i]].form);
    return forms;
  }

  // For what is not as the scheme alone would have it, in the order of the model.
  std::vector<OverrideRule> RulesFor(std::span<const size_t> forms) const {
    std::map<std::string, Scheme> chosen;
    for (size_t i = 0; i < items_.size(); ++i)
      for (const Matrix* matrix : items_[i].matrices)
        chosen[matrix->weight] = matrix->tried[forms[i]].scheme;
    std::vector<OverrideRule> rules;
    for (const Matrix& matrix : matrices_) {
      const Scheme scheme = chosen.at(matrix.weight);
      if (scheme == matrix.own) continue;
      rules.push_back(
          {.pattern = matrix.name(), .gives = {.weights = scheme, .rule = matrix.name()}});
    }
    return rules;
  }

  Json FileOf(const std::vector<OverrideRule>& rules) const {
    Json json = {{"quant", quant_.scheme->name}, {"rules", Json::array()}};
    for (const OverrideRule& rule : rules)
      json["rules"].push_back(
          {{"pattern", rule.pattern}, {"weights", WeightsName(*rule.gives.weights)}});
    return json;
  }

  Result<MixedQuality> Measure(const std::vector<OverrideRule>& rules) {
    QuantOptions quant = quant_;
    quant.overrides = TRY(Overrides::Settle({.rules = rules}, tensors_));
    double bits = 0;
    for (const Matrix& matrix : matrices_) {
      const TensorOverride* by = quant.overrides.OfMatrix(matrix.weight);
      const Scheme scheme = by ? *by->weights : matrix.own;
      bits += StoredBits(scheme, matrix.shape);
    }
    const TextComparison quality = TRY(Meter().MeasureQuantised(quant));
    return MixedQuality{.bits_per_weight = bits / static_cast<double>(report_.parameters),
                        .overrides = static_cast<int>(rules.size()),
                        .kl = quality.kl_mean,
                        .log_perplexity_increase = quality.log_perplexity_increase};
  }

  const SensitivityOptions& options_;
  mutable ThreadPool pool_;
  std::shared_ptr<const Decoder> decoder_;
  QuantOptions quant_;
  OverridableTensors tensors_;
  std::vector<std::vector<int32_t>> windows_;       // on which damage is measured
  std::vector<std::vector<int32_t>> seen_windows_;  // on which inputs are seen
  std::vector<const Target*> targets_;
  const std::vector<Scheme> forms_ = AllForms();
  std::vector<Matrix> matrices_;
  std::vector<Item> items_;
  SensitivityReport report_;
};

}  // namespace

Result<SensitivityReport> AnalyseSensitivity(const SensitivityOptions& options) {
  return Analysis(options).Run();
}

}  // namespace hexlane
