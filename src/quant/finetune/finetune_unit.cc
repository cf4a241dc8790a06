#include "quant/finetune/finetune_unit.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <random>

#include "hexlane/interrupt.h"
#include "interp/gradient/backward.h"
#include "kernels/rows.h"
#include "quant/finetune/trained.h"
#include "quant/float_rows.h"
#include "quant/matrix_scheme.h"
#include "quant/quantize_tensor.h"

namespace hexlane {
namespace {

// Mean over rows of |got - want|² / |want|²: what follows a unit is a norm of the row, and one
// token's huge channels must not outweigh all others. Its gradient goes to `gradient` if there is
// one.
double RelativeError(ConstRows got, ConstRows want, std::vector<float>* gradient) {
  double sum = 0;
  for (int64_t r = 0; r < got.rows; ++r) {
    double error = 0, energy = 1e-30;
    for (int64_t i = 0; i < got.dim; ++i) {
      const double off = static_cast<double>(got.row(r)[i]) - want.row(r)[i];
      error += off * off;
      energy += static_cast<double>(want.row(r)[i]) * want.row(r)[i];
    }
    sum += error / energy;
    if (!gradient) continue;
    const auto factor = static_cast<float>(2 / energy / static_cast<double>(got.rows));
    for (int64_t i = 0; i < got.dim; ++i)
      gradient->push_back(factor * (got.row(r)[i] - want.row(r)[i]));
  }
  return sum / static_cast<double>(got.rows);
}

class UnitTrainer {
 public:
  UnitTrainer(const Graph& quantised, const FinetuneArgs& args) : args_(args), student_(quantised) {
    for (const Node& node : student_.nodes()) {
      if (node.op == OpKind::kLinear && !IsVocabulary(student_, node)) AddLinear(node);
      if (node.op == OpKind::kRmsNorm) AddVector(node.inputs[1]);
    }
  }

  bool has_matrices() const { return has_matrices_; }

  // Whether something better was found; then Write has it.
  Result<bool> Run(FinetuneReport& report) {
    SplitWindows();
    report.error_before = report.error_after = TRY(HeldOutError());
    const auto steps = static_cast<int64_t>(args_.options.epochs) * std::ssize(training_);
    for (int epoch = 0; epoch < args_.options.epochs; ++epoch) {
      TRY(Epoch(epoch, steps));
      const double error = TRY(HeldOutError());
      if (!(error < report.error_after)) continue;
      report.error_after = error;
      report.epochs = epoch + 1;
      for (const auto& [id, trained] : trained_) trained->Keep();
    }
    return report.error_after < report.error_before;
  }

  Result<void> Write(Graph& quantised, UnitReport& report) const {
    for (const auto& [id, trained] : trained_) quantised.value(id).constant = trained->Finish();
    for (WeightReport& weight : report.weights) {
      const ValueId id = quantised.Find(weight.name);
      if (trained_.contains(id)) weight.snr_db = TRY(SnrDb(quantised.value(id)));
    }
    return {};
  }

 private:
  TensorView Original(std::string_view name) const {
    return args_.original->value(args_.original->Find(name)).constant->view();
  }

  Result<std::optional<double>> SnrDb(const Value& trained) const {
    return SnrDbOf(trained.constant->view(), RowsIn(Original(trained.name)), args_.pool);
  }

  void AddLinear(const Node& node) {
    const ValueId weight = node.inputs[1];
    if (student_.value(weight).constant->view().scheme == Scheme::kPlain) return;
    has_matrices_ = true;
    const TensorView packed = student_.value(weight).constant->view();
    const std::string& name = student_.value(weight).name;
    const std::vector<float> values = ToFloats(Original(name));
    const FloatMatrix original{values, packed.shape[0], packed.shape[1], name};
    // A product of a higher rank could not be more than any matrix.
    const int64_t most = std::min(packed.shape[0], packed.shape[1]);
    const int64_t rank = std::min<int64_t>(args_.options.rank, most);
    Train(weight, TrainMatrix(packed, original, static_cast<int>(rank), args_.pool));
    if (node.inputs.size() > 2) AddVector(node.inputs[2]);
  }

  void AddVector(ValueId id) {
    Train(id, TrainVector(student_.value(id).constant->view(), args_.vectors_as_f16));
  }

  void Train(ValueId id, std::unique_ptr<Trained> trained) {
    student_.value(id).constant = trained->rounded();
    trained_[id] = std::move(trained);
  }

  void SplitWindows() {
    const size_t count = args_.inputs->size();
    for (size_t i = 0; i < count; ++i) {
      const bool held_out =
          i % kHeldOutOf == kHeldOutOf - 1 || (i + 1 == count && held_out_.empty());
      (held_out ? held_out_ : training_).push_back(i);
    }
  }

  Result<void> Epoch(int epoch, int64_t steps) {
    std::mt19937 random(static_cast<unsigned>(epoch));
    for (size_t left = training_.size(); left > 1; --left)
      std::swap(training_[left - 1], training_[random() % left]);
    for (const size_t window : training_) {
      TRY(CheckInterrupt());
      const double done = static_cast<double>(step_) / static_cast<double>(steps);
      if (args_.progress) args_.progress(done);
      const double rate =
          args_.options.learning_rate * 0.5 * (1 + std::cos(std::numbers::pi * done));
      TRY(TrainOn(window, rate));
    }
    return {};
  }

  // The error of one window; calls `then` with what it takes to go back, if there is one.
  using Then = std::function<void(Interpreter&, const RunValues&, std::vector<float> gradient)>;
  Result<double> ErrorOf(size_t window, const Then& then) const {
    const Bindings inputs = args_.inputs->InputsFor(student_, window);
    Interpreter interpreter(student_, {.fake_quantise = true, .pool = args_.pool});
    const RunValues values = TRY(interpreter.Trace(inputs));
    const std::span<const float> got = interpreter.Floats(student_.outputs()[0], values);
    const std::span<const float> want = args_.targets->hidden(window);
    const int64_t dim = std::ssize(got) / values.rows;
    std::vector<float> gradient;
    const double error = RelativeError({got.data(), values.rows, dim},
                                       {want.data(), values.rows, dim}, then ? &gradient : nullptr);
    if (then) then(interpreter, values, std::move(gradient));
    return error;
  }

  Result<double> HeldOutError() const {
    double sum = 0;
    for (const size_t window : held_out_) sum += TRY(ErrorOf(window, {}));
    return sum / static_cast<double>(held_out_.size());
  }

  Result<void> TrainOn(size_t window, double rate) {
    ++step_;
    TRY(ErrorOf(window, [&](Interpreter& interpreter, const RunValues& values,
                            std::vector<float> gradient) {
      BackwardArgs back{.graph = &student_,
                        .interpreter = &interpreter,
                        .values = &values,
                        .wanted = {},
                        .pool = args_.pool};
      for (const auto& [id, trained] : trained_) back.wanted.insert(id);
      GoBack(back, std::move(gradient), [&](ValueId id, std::span<const float> at) {
        trained_.at(id)->Step(at, rate, step_);
      });
    }));
    for (const auto& [id, trained] : trained_) trained->Round();
    return {};
  }

  const FinetuneArgs& args_;
  Graph student_;  // with float weights that `trained_` keeps rounded
  std::map<ValueId, std::unique_ptr<Trained>> trained_;
  bool has_matrices_ = false;
  std::vector<size_t> training_, held_out_;  // windows
  int64_t step_ = 0;
};

}  // namespace

Result<void> FinetuneUnit(Graph& quantised, const FinetuneArgs& args, UnitReport& report) {
  if (args.inputs->size() < 2)
    return InvalidInput(
               "fine-tuning trains on one part of the calibration text and judges by another")
        .Want("at least 2 windows of text")
        .Got("{}", args.inputs->size())
        .Remedy("Give a longer text with --calibration, and more --calibration-tokens");
  UnitTrainer trainer(quantised, args);
  if (!trainer.has_matrices()) return {};
  FinetuneReport& finetune = report.finetune.emplace();
  if (TRY(trainer.Run(finetune))) TRY(trainer.Write(quantised, report));
  return {};
}

}  // namespace hexlane
