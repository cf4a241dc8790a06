#include "compiler/quantise.h"

#include <algorithm>
#include <set>

#include "base/file.h"
#include "base/memory.h"
#include "compiler/head_inputs.h"
#include "compiler/source.h"
#include "hexlane/interrupt.h"
#include "ir/text.h"
#include "models/weights.h"
#include "quant/algorithm/migrate.h"
#include "quant/algorithm/rotate.h"
#include "quant/calibrate.h"
#include "quant/finetune/finetune_unit.h"
#include "quant/matrix_scheme.h"
#include "quant/observe/value_warnings.h"
#include "quant/quantize_unit.h"

namespace hexlane {
namespace fs = std::filesystem;
namespace {

// The units' PackageWriter::WeightsRecord as one.
Json AllWeights(const std::vector<Json>& records) {
  Json all = {{"index", {{"weights", Json::array()}}}, {"sha256", Json::object()}};
  for (const Json& record : records) {
    const Json& weights = record.at("weights");
    for (const Json& entry : weights.at("index").at("weights"))
      all["index"]["weights"].push_back(entry);
    all["sha256"].update(weights.at("sha256"));
  }
  return all;
}

std::string StepOf(int unit) { return fmt::format("unit-{}", unit); }
// What calibration carries from this unit to the next.
std::string StateAfter(int unit) { return fmt::format("calibration-{}", unit); }
// The float model's hidden states, where they are needed beside the quantised one's.
std::string FloatsAfter(int unit) { return fmt::format("float-{}", unit); }

// The record of a finished unit whose graph is as it was recorded.
std::optional<Json> FindUnit(int unit, const Journal& journal, PackageWriter& writer) {
  std::optional<Json> record = journal.Find(StepOf(unit));
  if (!record || !record->is_object() || !record->contains("weights")) return std::nullopt;
  if (!writer.RestoreText(UnitFile(unit), record->value("text", ""))) return std::nullopt;
  return record;
}

template <typename T>
const T* ToPointer(const std::optional<T>& value) {
  return value ? &*value : nullptr;
}

class Quantiser {
 public:
  Quantiser(const QuantiseArgs& args, PackageWriter& writer)
      : args_(args),
        writer_(writer),
        calibrator_(args.windows, args.pool),
        floats_(args.windows, args.pool) {}

  Result<QuantisedModel> Run() {
    const int count = args_.decoder->unit_count();
    const int taken_up = TakeUp();
    TRY(Announce(taken_up));
    for (int unit = taken_up; unit < count; ++unit) {
      TRY(CheckInterrupt());
      if (args_.progress)
        args_.progress(static_cast<double>(unit) / count,
                       fmt::format("quantise unit {}/{}", unit + 1, count));
      TRY(Unit(unit, unit == count - 1));
      args_.decoder->checkpoint()
          .DropPages();     // read already; memory is a unit's, whatever the depth
      ReleaseFreeMemory();  // compilers' processes begin as copies of this one
      TRY(Announce(unit + 1));
    }
    TRY(writer_.SealWeights());
    return std::move(model_);
  }

 private:
  bool calibrates() const { return args_.options.needs_calibration(); }
  bool finetunes() const { return args_.options.finetune.has_value(); }
  bool follows() const { return args_.options.algorithm.needs_moments() || finetunes(); }

  Result<void> Announce(int count) const {
    if (!args_.finished || count == 0) return {};
    const auto load = [directory = writer_.directory(),
                       weights = TRY(writer_.WeightsSoFar())](int unit) -> Result<Graph> {
      const std::string text = TRY(ReadTextFile(directory / UnitFile(unit)));
      return Parse(text, UnitFile(unit), weights);
    };
    args_.finished({count, load, {}});
    return {};
  }

  // Units of an earlier run, up to the first that is not finished or not as it was; returns that
  // one.
  int TakeUp() {
    std::vector<Json> records;
    while (auto record = FindUnit(static_cast<int>(records.size()), *args_.journal, writer_))
      records.push_back(*std::move(record));
    // Of the states only the last is kept: without it the units before it cannot be taken up
    // either.
    const int last = static_cast<int>(records.size()) - 1;
    if (records.empty()) return 0;
    if (!RestoreState(last) || !writer_.RestoreWeights(AllWeights(records))) {
      calibrator_ = floats_ = Calibrator(args_.windows, args_.pool);
      return 0;
    }
    for (const Json& record : records) Count(record);
    return last + 1;
  }

  bool RestoreState(int unit) {
    if (!calibrates() || unit + 1 == args_.decoder->unit_count()) return true;
    return Restore(StateAfter(unit), calibrator_) &&
           (!finetunes() || Restore(FloatsAfter(unit), floats_));
  }

  bool Restore(const std::string& name, Calibrator& calibrator) const {
    const std::optional<std::string> state = args_.journal->Load(name);
    return state && calibrator.Restore(*state);
  }

  Result<void> Unit(int unit, bool is_last) {
    Graph graph = TRY(args_.decoder->Build(unit));
    MomentsByValue moments;
    Result<void> calibrated = Prepare(graph, is_last, moments);
    if (!calibrated) return InCheckpoint(std::move(calibrated).error());
    const auto stored_rows = [this](std::string_view weight) {
      return StoredRows(*args_.decoder, weight);
    };
    std::optional<Graph> original;
    if (finetunes() && !is_last) original = graph;  // its weights are shared
    const std::optional<Moments> head_inputs = unit == 0 ? TRY(SeeHead()) : std::nullopt;
    const std::optional<Tensor> table = is_last ? TRY(TableFor(graph)) : std::nullopt;
    Result<UnitReport> quantised = QuantizeUnit(graph, {.options = args_.options,
                                                        .ranges = &calibrator_.ranges(),
                                                        .moments = &moments,
                                                        .head_inputs = ToPointer(head_inputs),
                                                        .table = ToPointer(table),
                                                        .stored_rows = stored_rows,
                                                        .pool = args_.pool});
    if (!quantised) return InCheckpoint(std::move(quantised).error());
    moments.clear();
    if (original) TRY(Finetune(unit, *original, graph, *quantised));
    if (follows() && !is_last) TRY(calibrator_.Follow(graph));
    TRY(Verify(graph, GraphStage::kQuantised));
    const size_t before = writer_.weight_count();
    for (const Value& value : graph.values()) {
      if (!value.constant) continue;
      TRY(writer_.AddWeight(value.name, value.constant->view()));
    }
    const std::string text = Print(graph);
    TRY(writer_.AddText(UnitFile(unit), text));
    return Finish(unit, is_last, *quantised, text, writer_.WeightsRecord(before));
  }

  Result<std::optional<Moments>> SeeHead() const {
    return HeadInputs(*args_.decoder, args_.options, args_.windows, args_.pool, args_.progress);
  }

  // The embedding table, rounded in an earlier unit, where it is this head's matrix.
  Result<std::optional<Tensor>> TableFor(const Graph& head) const {
    for (const Node& node : head.nodes())
      if (IsLogits(head, node) && counted_.contains(head.value(node.inputs[1]).name))
        return TRY(TRY(writer_.WeightsSoFar())(head.value(node.inputs[1]).name));
    return std::nullopt;
  }

  // Transforms and calibrates; transforms that look at inputs make others of them.
  Result<void> Prepare(Graph& graph, bool is_last, MomentsByValue& moments) {
    const Algorithm& algorithm = args_.options.algorithm;
    if (algorithm.rotate) TRY(RotateUnit(graph, args_.pool));
    if (!calibrates()) return {};
    if (!follows()) return calibrator_.Advance(graph, is_last);
    TRY(calibrator_.Observe(graph, moments));
    if (!algorithm.migrates()) return {};
    TRY(MigrateScales(graph, {.awq = algorithm.awq,
                              .scheme = args_.options.scheme->layers,
                              .moments = &moments,
                              .pool = args_.pool}));
    moments.clear();
    return calibrator_.Observe(graph, moments);
  }

  // The head is left alone: what it would be compared by is not kept.
  Result<void> Finetune(int unit, const Graph& original, Graph& graph, UnitReport& report) {
    TRY(floats_.Advance(original, false));
    const auto progress = [&](double fraction) {
      const int count = args_.decoder->unit_count();
      if (args_.progress)
        args_.progress((unit + fraction) / count, fmt::format("train unit {}/{}", unit + 1, count));
    };
    const bool f16 = args_.options.scheme->activations == DType::kF16;
    return FinetuneUnit(graph,
                        {.options = *args_.options.finetune,
                         .original = &original,
                         .inputs = &calibrator_.run(),
                         .targets = &floats_.run(),
                         .vectors_as_f16 = f16,
                         .pool = args_.pool,
                         .progress = progress},
                        report);
  }

  // The state goes first and the one before it last: at every moment one that fits the records is
  // there.
  Result<void> Finish(int unit, bool is_last, const UnitReport& report, std::string_view text,
                      Json weights) {
    if (calibrates() && !is_last) TRY(args_.journal->Save(StateAfter(unit), calibrator_.Save()));
    if (finetunes() && !is_last) TRY(args_.journal->Save(FloatsAfter(unit), floats_.Save()));
    Json record = {{"weights", std::move(weights)},
                   {"text", Sha256(std::as_bytes(std::span(text)))},
                   {"report", ToJson(report)}};
    record["warnings"] = UnitWarnings(report);
    TRY(args_.journal->Record(StepOf(unit), record));
    args_.journal->Discard(StateAfter(unit - 1));
    args_.journal->Discard(FloatsAfter(unit - 1));
    Count(record);
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

  // Adds a finished unit to the model's figures.
  void Count(const Json& record) {
    for (const Json& weight : record.at("report").at("weights")) {
      if (!counted_.insert(weight.at("name").get<std::string>()).second) continue;
      int64_t elements = 1;
      for (const Json& dim : weight.at("shape")) elements *= dim.get<int64_t>();
      model_.parameters += elements;
      model_.bits += weight.at("bits").get<double>() * static_cast<double>(elements);
    }
    for (const Json& warning : record.at("warnings")) model_.warnings.push_back(warning);
    CountFinetune(record.at("report"));
    model_.reports.push_back(record.at("report"));
  }

  void CountFinetune(const Json& report) {
    if (!report.contains("finetune")) return;
    const double before = report["finetune"]["error_before"],
                 after = report["finetune"]["error_after"];
    if (!model_.finetune) model_.finetune.emplace();
    FinetuneSummary& sum = *model_.finetune;
    const double share = 1.0 / ++sum.layers;  // of a running mean
    sum.improved += after < before ? 1 : 0;
    sum.error_before += share * (before - sum.error_before);
    sum.error_after += share * (after - sum.error_after);
  }

  const QuantiseArgs& args_;
  PackageWriter& writer_;
  Calibrator calibrator_;
  Calibrator floats_;  // the float model's hidden states, where it finetunes
  QuantisedModel model_;
  std::set<std::string> counted_;
};

}  // namespace

bool HasLoneTable(const Decoder& decoder, const QuantOptions& options) {
  if (decoder.config().tied && !options.algorithm.rotate) return false;  // rotation splits them
  return !options.scheme->keeps_stored || IsStoredInFloats(decoder, kTable);
}

Result<QuantisedModel> QuantiseModel(const QuantiseArgs& args, PackageWriter& writer) {
  return Quantiser(args, writer).Run();
}

Result<size_t> QuantisingBytes(const UnitSource& units, const QuantOptions& options) {
  const size_t per_weight = options.finetune ? 24 : 2;  // docs/quant.md
  size_t largest = 0;
  for (int unit = 0; unit < units.count; ++unit) {
    const Graph graph = TRY(units.load(unit));
    size_t count = 0;
    for (const Value& value : graph.values())
      if (value.constant) count += static_cast<size_t>(value.shape.elements());
    largest = std::max(largest, count);
  }
  return largest * per_weight;
}

Result<void> TakeUpQuantised(const Journal& journal, int unit_count, PackageWriter& writer) {
  std::vector<Json> records;
  for (int unit = 0; unit < unit_count; ++unit) {
    std::optional<Json> record = FindUnit(unit, journal, writer);
    if (!record) return NotFound("unit {} of {} is not quantised", unit + 1, unit_count);
    records.push_back(*std::move(record));
  }
  return writer.RestoreSealedWeights(AllWeights(records));
}

fs::path LastQuantiseRecord(int unit_count) { return Journal::FileOf(StepOf(unit_count - 1)); }

UnitSource UnitsOf(const PackageWriter& writer, int count) {
  const auto load = [&writer](int unit) -> Result<Graph> {
    const std::string text = TRY(writer.ReadText(UnitFile(unit)));
    return Parse(text, UnitFile(unit), [&](std::string_view name) { return writer.Weight(name); });
  };
  return {count, load, [&writer] { writer.DropWeightPages(); }};
}

}  // namespace hexlane
