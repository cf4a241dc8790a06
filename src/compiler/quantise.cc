#include "compiler/quantise.h"

#include <set>

#include "compiler/source.h"
#include "hexlane/interrupt.h"
#include "ir/text.h"
#include "quant/calibrate.h"
#include "quant/quantize_unit.h"

namespace hexlane {
namespace {

// Values that were the same everywhere during calibration: a broken checkpoint or graph.
void WarnOfStuckValues(const UnitReport& report, std::vector<std::string>& warnings) {
  for (const ValueReport& value : report.values) {
    if (value.seen && value.seen->constant)
      warnings.push_back(
          fmt::format("{} is {} for every calibration token", value.name, value.seen->min));
  }
}

class Quantiser {
 public:
  Quantiser(const QuantiseArgs& args, PackageWriter& writer)
      : args_(args), writer_(writer), calibrator_(args.windows, args.pool) {}

  Result<QuantisedModel> Run() {
    const int count = args_.decoder->unit_count();
    for (int unit = 0; unit < count; ++unit) {
      TRY(CheckInterrupt());
      if (args_.progress)
        args_.progress(static_cast<double>(unit) / count,
                       fmt::format("quantise unit {}/{}", unit + 1, count));
      TRY(Unit(unit, unit == count - 1));
    }
    TRY(writer_.SealWeights());
    for (size_t unit = 0; unit < texts_.size(); ++unit)
      TRY(writer_.AddText(UnitFile(static_cast<int>(unit)), texts_[unit]));
    return std::move(model_);
  }

 private:
  Result<void> Unit(int unit, bool is_last) {
    Graph graph = TRY(args_.decoder->Build(unit));
    if (args_.options.scheme->needs_calibration()) {
      Result<void> calibrated = calibrator_.Advance(graph, is_last);
      if (!calibrated) return InCheckpoint(std::move(calibrated).error());
    }
    Result<UnitReport> quantised = QuantizeUnit(
        graph, {.options = args_.options, .ranges = &calibrator_.ranges(), .pool = args_.pool});
    if (!quantised) return InCheckpoint(std::move(quantised).error());
    UnitReport report = *std::move(quantised);
    TRY(Verify(graph, GraphStage::kQuantised));
    for (const Value& value : graph.values()) {
      if (!value.constant) continue;
      TRY(writer_.AddWeight(value.name, value.constant->view()));
    }
    Count(report);
    WarnOfStuckValues(report, model_.warnings);
    texts_.push_back(Print(graph));
    model_.reports.push_back(std::move(report));
    return {};
  }

  // An error of a weight, with the file that the weight is from.
  Failure InCheckpoint(Error error) const {
    if (error.code != Code::kCancelled) {
      error.where = fmt::format("{}: {}", args_.decoder->checkpoint().where(), error.where);
      if (error.remedy.empty()) error.remedy = "The checkpoint is damaged: download it again";
    }
    return Failure(std::move(error));
  }

  void Count(const UnitReport& report) {
    for (const WeightReport& weight : report.weights) {
      if (!counted_.insert(weight.name).second) continue;
      model_.parameters += weight.shape.elements();
      model_.bits += weight.bits * static_cast<double>(weight.shape.elements());
    }
  }

  const QuantiseArgs& args_;
  PackageWriter& writer_;
  Calibrator calibrator_;
  QuantisedModel model_;
  std::vector<std::string> texts_;  // by unit
  std::set<std::string> counted_;
};

}  // namespace

Result<QuantisedModel> QuantiseModel(const QuantiseArgs& args, PackageWriter& writer) {
  return Quantiser(args, writer).Run();
}

UnitSource UnitsOf(const PackageWriter& writer, int count) {
  const auto load = [&writer](int unit) -> Result<Graph> {
    const std::string text = TRY(writer.ReadText(UnitFile(unit)));
    return Parse(text, UnitFile(unit), [&](std::string_view name) { return writer.Weight(name); });
  };
  return {count, load, [&writer] { writer.DropWeightPages(); }};
}

}  // namespace hexlane
