#include "compiler/stage_run.h"

#include <stdlib.h>

#include <set>

#include "compiler/fingerprint.h"
#include "hexlane/engine.h"
#include "interp/decoder_run.h"
#include "quant/algorithm/algorithm.h"
#include "quant/algorithm/rotate.h"
#include "runtime/steps.h"
#include "runtime/variants.h"

namespace hexlane {
namespace fs = std::filesystem;

std::string UnitValueName(int unit, int unit_count) {
  return unit == unit_count - 1 ? "logits" : UnitOutputName(unit);
}

StageRunner::StageRunner(const ModelSource& source)
    : source_(source), pool_(source.threads > 0 ? source.threads : DefaultThreads()) {}

StageRunner::~StageRunner() {
  std::error_code ignored;
  if (!temporary_.empty()) fs::remove_all(temporary_, ignored);
}

Result<std::unique_ptr<StageRunner>> StageRunner::Open(const ModelSource& source) {
  std::unique_ptr<StageRunner> runner(new StageRunner(source));
  if (IsPackage(source.path))
    runner->package_ = TRY(OpenPackage(source.path));
  else
    runner->decoder_ = TRY(OpenCheckpoint(source.path));
  runner->run_count_ = runner->unit_count();
  TRY(runner->CheckSoc());
  return runner;
}

Result<void> StageRunner::CheckSoc() const {
  if (source_.soc.empty()) return {};
  if (!package_) return FindTarget(source_.soc).map([](const Target*) {});
  return CheckSocOf(package_->plan(), source_.soc);
}

int StageRunner::context() const {
  if (!package_) return static_cast<int>(decoder_->config().max_context);
  int context = 0;
  for (const Variant& variant : package_->plan().variants)
    context = std::max(context, Capacity(variant.stages));
  return context;
}

Result<void> StageRunner::CheckFits(std::span<const int32_t> ids) const {
  for (const int32_t id : ids)
    if (id < 0 || id >= vocab())
      return InvalidInput("token id {} is not in the vocabulary", id).Want("0..{}", vocab() - 1);
  const auto count = static_cast<int64_t>(ids.size());
  if (count <= context()) return {};
  return InvalidInput("the input does not fit the context: it is {} tokens too long",
                      count - context())
      .At("{}", source_.path.string())
      .Want("at most {} tokens", context())
      .Got("{}", count)
      .Remedy("{}", package_ ? "Shorten it, or convert the model with a larger --context"
                             : "Shorten it: the model was trained for no more");
}

int StageRunner::unit_count() const {
  return package_ ? package_->plan().model.layers + 2 : decoder_->unit_count();
}

int StageRunner::vocab() const {
  return package_ ? package_->plan().model.vocab : static_cast<int>(decoder_->config().vocab);
}

Result<std::shared_ptr<const Decoder>> StageRunner::decoder() {
  if (decoder_) return decoder_;
  if (source_.checkpoint.empty()) TRY(CheckUnchanged(package_->manifest().conversion));
  const fs::path path =
      source_.checkpoint.empty() ? fs::path(package_->manifest().source) : source_.checkpoint;
  Result<std::shared_ptr<const Decoder>> opened = OpenCheckpoint(path);
  if (!opened) {
    Error error = std::move(opened).error();
    error.what = fmt::format("the float stage needs the checkpoint: {}", error.what);
    error.remedy = "Name the checkpoint that the package was made from with --checkpoint";
    return Failure(std::move(error));
  }
  decoder_ = *opened;
  if (decoder_->unit_count() != unit_count() || decoder_->config().vocab != vocab()) {
    return InvalidInput("'{}' is not the checkpoint of this package", path.string())
        .Want("{} layers, vocabulary {}", unit_count() - 2, vocab())
        .Got("{} layers, vocabulary {}", decoder_->config().layers, decoder_->config().vocab);
  }
  return decoder_;
}

Result<UnitSource> StageRunner::FloatUnits() {
  const UnitSource built = UnitsOf(TRY(decoder()));
  if (!package_) return built;
  const std::string name = package_->manifest().conversion.value("algorithm", "rtn");
  if (!TRY(ParseAlgorithm(name)).rotate) return built;
  const auto load = [this, built](int unit) -> Result<Graph> {
    Graph graph = TRY(built.load(unit));
    TRY(RotateUnit(graph, &pool_));
    return graph;
  };
  return UnitSource{built.count, load, built.drop_pages};
}

int StageRunner::hidden() const {
  return package_ ? package_->plan().model.hidden : static_cast<int>(decoder_->config().hidden);
}

Result<void> StageRunner::CheckHasPackage(Stage stage) const {
  if (stage == Stage::kFloat || package_) return {};
  return Usage("stage '{}' needs a package", StageName(stage))
      .Got("{}", source_.path.string())
      .Remedy("Make one with: hexlane convert");
}

Result<Json> StageRunner::CheckpointRecords() {
  const bool recorded = package_ && source_.checkpoint.empty();
  if (!recorded) return RecordsOf(TRY(decoder())->checkpoint().files());
  return *TRY(JsonArray(package_->manifest().conversion, "inputs", "manifest.json: conversion"));
}

Result<UnitSource> StageRunner::Units(Stage stage) {
  TRY(CheckHasPackage(stage));
  if (stage == Stage::kFloat) return FloatUnits();
  return UnitsOf(package_);
}

Result<UnitValues> StageRunner::RunInterpreter(Stage stage, std::span<const int32_t> ids,
                                               const Observer& observer) {
  const UnitSource units = TRY(Units(stage));
  DecoderRun run({std::vector<int32_t>(ids.begin(), ids.end())});
  UnitValues values(static_cast<size_t>(run_count_));
  for (int i = 0; i < run_count_; ++i) {
    const Graph unit = TRY(units.load(i));
    const auto keep = [&](size_t, std::vector<float> output) -> Result<void> {
      values[static_cast<size_t>(i)] = std::move(output);
      return {};
    };
    const bool last = i == units.count - 1;
    TRY(run.Advance(unit, {.fake_quantise = stage == Stage::kQuant, .pool = &pool_}, observer,
                    last ? keep : DecoderRun::Sink()));
    if (!last) values[static_cast<size_t>(i)].assign(run.hidden(0).begin(), run.hidden(0).end());
  }
  return values;
}

Result<UnitValues> StageRunner::RunEngine(const fs::path& package, const std::string& backend,
                                          std::span<const int32_t> ids) {
  const EngineOptions options{
      .backend = backend, .threads = source_.threads, .vendor_library = source_.vendor_library};
  const auto engine = TRY(Engine::Open(package, options));
  const auto session = TRY(engine->NewSession());
  UnitValues values(static_cast<size_t>(run_count_));
  const auto place = [&](std::string_view name, int64_t first, std::span<const float> rows) {
    for (int unit = 0; unit < std::min(run_count_, unit_count() - 1); ++unit) {
      if (name != UnitOutputName(unit)) continue;
      std::vector<float>& kept = values[static_cast<size_t>(unit)];
      kept.resize(ids.size() * static_cast<size_t>(engine->info().hidden));
      const size_t begin = static_cast<size_t>(first) * static_cast<size_t>(engine->info().hidden);
      std::copy(rows.begin(), rows.end(), kept.begin() + static_cast<ptrdiff_t>(begin));
    }
  };
  const auto keep_logits = [&](int64_t, std::span<const float> row) {
    if (has_logits()) values.back().insert(values.back().end(), row.begin(), row.end());
  };
  TRY(session->Evaluate(ids, keep_logits, {.on_value = place}));
  return values;
}

Result<void> StageRunner::MakeTemporary() {
  if (!temporary_.empty()) return {};
  std::string name = (fs::temp_directory_path() / "hexlane-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr)
    return Io("cannot make a folder in '{}'", fs::temp_directory_path().string());
  temporary_ = name;
  return {};
}

Result<const Variant*> StageRunner::CompiledVariant() const {
  for (const Variant& variant : package_->plan().variants)
    if (!variant.soc.empty() && (source_.soc.empty() || source_.soc == variant.soc))
      return &variant;
  return InvalidInput("the package has no {} variant", source_.soc.empty() ? "HTP" : source_.soc)
      .At("{}", package_->directory().string())
      .Remedy("Convert with --soc");
}

VariantArgs StageRunner::EmulatorVariant(const UnitSource& units, const Variant& compiled,
                                         int positions) {
  StageShape stage = compiled.stages.back();
  if (positions > stage.past() + 1) stage.context = positions + stage.rows;
  VariantArgs args{.units = units,
                   .name = compiled.soc + "-emulator",
                   .backend = "qnn",
                   .stages = {stage},
                   .folder = "htp",
                   .share_weights = false,
                   .vendor_library = source_.vendor_library,
                   .progress = source_.progress,
                   .all_logits = true};
  args.between = [this](int first, int count, Probe& probe) {
    return RunBetween(first, count, probe);
  };
  for (int unit = 0; unit < std::min(run_count_, unit_count() - 1); ++unit)
    args.taps.push_back(UnitOutputName(unit));
  return args;
}

Result<fs::path> StageRunner::VerificationPackage(Probe* probe, int positions) {
  TRY(MakeTemporary());
  const fs::path directory = temporary_ / "package";
  if (has_verification_package_ && probe == nullptr) return directory;
  const Variant& compiled = *TRY(CompiledVariant());
  PackageWriter writer = TRY(PackageWriter::Create(directory));
  const UnitSource units = UnitsOf(package_);
  const Graph embedding = TRY(units.load(0));
  for (const Value& value : embedding.values())
    if (value.constant) TRY(writer.AddWeight(value.name, value.constant->view()));
  TRY(writer.SealWeights());
  VariantArgs args = EmulatorVariant(units, compiled, positions);
  args.target = TRY(FindTarget(compiled.soc));
  args.directory = writer.directory();
  args.probe = probe;
  VariantResult result = TRY(CompileVariant(args));
  Manifest manifest = package_->manifest();
  manifest.plan.variants = {std::move(result.variant)};
  for (const char* file : {"tokenizer.json", "tokenizer_config.json", "generation_config.json"})
    if (package_->Has(file)) TRY(writer.AddText(file, TRY(package_->ReadText(file))));
  TRY(writer.Finish(manifest));
  has_verification_package_ = true;
  return directory;
}

// Some of the layers make no package: their graphs are run as they are compiled.
Result<void> StageRunner::ProbeLayers(Probe& probe) {
  TRY(MakeTemporary());
  const Variant& compiled = *TRY(CompiledVariant());
  UnitSource units = UnitsOf(package_);
  units.count = run_count_;
  VariantArgs args = EmulatorVariant(units, compiled, probe.rows);
  args.target = TRY(FindTarget(compiled.soc));
  args.directory = temporary_ / "layers";
  args.probe = &probe;
  return CompileVariant(args).map([](const VariantResult&) {});
}

// Units that run on the CPU between two parts of a probed variant: by the quantised reference.
Result<void> StageRunner::RunBetween(int first, int count, Probe& probe) {
  const UnitSource units = UnitsOf(package_);
  DecoderRun run({probe.ids});
  run.Restore({std::move(probe.input)});
  for (int unit = first; unit < first + count; ++unit)
    TRY(run.Advance(TRY(units.load(unit)), {.fake_quantise = true, .pool = &pool_}));
  probe.input.assign(run.hidden(0).begin(), run.hidden(0).end());
  return {};
}

Result<StageRunner::EmulatorRun> StageRunner::RunEmulator(std::span<const int32_t> ids) {
  const UnitSource units = UnitsOf(package_);
  const Graph embedding = TRY(units.load(0));
  DecoderRun embed({std::vector<int32_t>(ids.begin(), ids.end())});
  TRY(embed.Advance(embedding, {.fake_quantise = true, .pool = &pool_}));
  Probe probe{.rows = static_cast<int>(ids.size())};
  probe.ids.assign(ids.begin(), ids.end());
  probe.input.assign(embed.hidden(0).begin(), embed.hidden(0).end());
  EmulatorRun run;
  run.in_memory.resize(static_cast<size_t>(run_count_));
  run.in_memory[0] = probe.input;
  fs::path package;
  if (has_logits())
    package = TRY(VerificationPackage(&probe, probe.rows));
  else
    TRY(ProbeLayers(probe));
  for (int unit = 1; unit < run_count_; ++unit) {
    const auto it = probe.outputs.find(UnitValueName(unit, unit_count()));
    if (it != probe.outputs.end()) run.in_memory[static_cast<size_t>(unit)] = std::move(it->second);
  }
  if (has_logits()) run.reloaded = TRY(RunEngine(package, "htp", ids));
  return run;
}

RangeWatch StageRunner::WatchFor(const std::vector<std::vector<int32_t>>& windows) const {
  std::set<int32_t> ids;
  for (const std::vector<int32_t>& window : windows) ids.insert(window.begin(), window.end());
  SeenByName calibrated;
  if (package_ && package_->Has("report.json"))
    if (const auto text = package_->ReadText("report.json"))
      if (const auto report = ParseJson(*text, "report.json"))
        calibrated = SeenInCalibration(*report);
  return {std::move(calibrated), ids.size() > 1};
}

Result<UnitValues> StageRunner::Run(Stage stage, std::span<const int32_t> ids,
                                    const Observer& observer) {
  TRY(CheckHasPackage(stage));
  switch (stage) {
    case Stage::kFloat:
    case Stage::kQuant: return RunInterpreter(stage, ids, observer);
    case Stage::kCpu: return RunEngine(package_->directory(), "cpu", ids);
    case Stage::kHtp: break;
  }
  return RunEngine(TRY(VerificationPackage(nullptr, static_cast<int>(ids.size()))), "htp", ids);
}

}  // namespace hexlane
