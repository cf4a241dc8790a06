// Checkpoint → package: quantise unit by unit, compile for the CPU and every SoC, write, hash,
// rename into place.
#include <algorithm>
#include <chrono>
#include <set>

#include "backends/qnn/driver/library.h"
#include "base/memory.h"
#include "compiler/ahead.h"
#include "compiler/calibration/calibration_source.h"
#include "compiler/calibration/samples.h"
#include "compiler/fingerprint.h"
#include "compiler/jobs.h"
#include "compiler/kept.h"
#include "compiler/overrides.h"
#include "compiler/parts.h"
#include "compiler/quantise.h"
#include "compiler/source.h"
#include "compiler/variant.h"
#include "hexlane/compiler.h"
#include "hexlane/interrupt.h"
#include "quant/quantize_unit.h"
#include "runtime/chat/chat_template.h"
#include "runtime/tokenizer/tokenizer.h"

namespace hexlane {
namespace fs = std::filesystem;
namespace {

constexpr int64_t kDefaultContext = 512;
// Tokens that a fine-tune added without giving them embeddings; more of them are another model's.
constexpr int kMaxSurplusTokens = 64;

// Shares of the whole that the steps take, for the progress bar.
constexpr double kQuantiseShare = 0.3;

Result<void> CheckRows(const ConvertOptions& options) {
  constexpr size_t kMost = kMaxStages / 2;  // each for one row and for a prompt's
  if (options.contexts.size() > kMost)
    return Usage("{} contexts", options.contexts.size()).Want("at most {}", kMost);
  const int least = *std::ranges::min_element(options.contexts);
  if (options.prefill_rows >= 1 && least > options.prefill_rows) return {};
  return Usage("a context of {} cannot hold {} prefill rows", least, options.prefill_rows)
      .Want("1 ≤ prefill rows < context")
      .Remedy("Give fewer --prefill-rows or a longer --context");
}

Result<void> CheckOptions(const ConvertOptions& options) {
  if (options.output.empty()) return Usage("no output folder").Remedy("Give one with -o");
  if (!options.contexts.empty()) TRY(CheckRows(options));
  if (options.calibration_tokens < 1)
    return Usage("{} calibration tokens", options.calibration_tokens).Want("at least 1");
  if (options.emulator && options.socs.empty())
    return Usage("--emulator without an SoC to emulate").Remedy("Add --soc, e.g. --soc SM8650");
  return {};
}

Result<std::vector<const Target*>> FindTargets(const std::vector<std::string>& names) {
  std::vector<const Target*> targets;
  for (const std::string& name : names) {
    const Target* target = TRY(FindTarget(name));
    if (std::find(targets.begin(), targets.end(), target) == targets.end())
      targets.push_back(target);
  }
  return targets;
}

Json ToJson(const FinetuneSummary& summary) {
  return {{"layers", summary.layers},
          {"improved", summary.improved},
          {"error_before", summary.error_before},
          {"error_after", summary.error_after}};
}

// Of a report.json that has one.
Result<FinetuneSummary> ReadSummary(const Json& report) {
  constexpr std::string_view kWhere = "report.json: finetune";
  const Json& json = *TRY(JsonObject(report, "finetune", "report.json"));
  return FinetuneSummary{
      .layers = static_cast<int>(TRY(JsonField<int64_t>(json, "layers", kWhere))),
      .improved = static_cast<int>(TRY(JsonField<int64_t>(json, "improved", kWhere))),
      .error_before = TRY(JsonField<double>(json, "error_before", kWhere)),
      .error_after = TRY(JsonField<double>(json, "error_after", kWhere))};
}

class Converter {
 public:
  explicit Converter(const ConvertOptions& options)
      : options_(options), pool_(options.threads > 0 ? options.threads : DefaultThreads()) {}

  Result<ConvertReport> Run() {
    const auto start = std::chrono::steady_clock::now();
    TRY(Settle());
    if (!options_.force && IsUpToDate(options_.output, fingerprint_)) return UpToDate();
    const bool quantises_only = options_.only == kQuantiseStep;
    if (!targets_.empty() && !quantises_only) TRY(qnn::FindLibrary(options_.vendor_library));
    if (options_.only.empty() || quantises_only) {
      TRY(ReadTokenizer());
      TRY(Convert());
    } else {
      TRY(ConvertPart());
    }
    report_.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    report_.peak_rss_bytes = std::max(PeakRssBytes(), rss_with_child_);
    return std::move(report_);
  }

  Result<std::vector<ConvertJob>> Jobs() {
    TRY(Settle());
    TRY(ReadTokenizer());  // what would stop the conversion stops its plan
    const fs::path package = fs::absolute(options_.output);
    JobArgs args{
        .package = package,
        .options = quant_,
        .units = SketchedUnits(),
        .calibration_tokens = quant_.needs_calibration() ? options_.calibration_tokens : 0};
    args.staging = fs::absolute(StagedDirectory::PathOf(package, KeyOf(fingerprint_)));
    for (const fs::path& file : decoder_->checkpoint().files())
      args.inputs.push_back(fs::absolute(file));
    if (quant_.needs_calibration())
      for (const fs::path& file : TRY(CalibrationFiles(options_.calibration)))
        args.inputs.push_back(fs::absolute(file));
    if (!options_.overrides.empty()) args.inputs.push_back(fs::absolute(options_.overrides));
    args.variants = Variants(args.units, args.staging, nullptr);
    for (VariantArgs& variant : args.variants) TRY(Plan(variant));
    return JobsOf(args);
  }

 private:
  // Everything that follows from options and checkpoint alone.
  Result<void> Settle() {
    TRY(CheckOptions(options_));
    targets_ = TRY(FindTargets(options_.socs));
    decoder_ = TRY(OpenCheckpoint(options_.model));
    TRY(ChooseScheme());
    TRY(SettleContexts());
    fingerprint_ = TRY(FingerprintOf(options_, quant_, decoder_->checkpoint()));
    return {};
  }

  // Cut as the quantised ones: size, form and support of a unit do not depend on its numbers.
  UnitSource SketchedUnits() const {
    const auto load = [this](int unit) -> Result<Graph> {
      Graph graph = TRY(decoder_->Build(unit));
      TRY(SketchUnit(graph, quant_));
      return graph;
    };
    return {decoder_->unit_count(), load, [this] { decoder_->checkpoint().DropPages(); }};
  }

  Result<void> ChooseScheme() {
    OverrideFile overrides;
    if (!options_.overrides.empty()) overrides = TRY(ReadOverrides(options_.overrides));
    const std::string scheme = TRY(SchemeOf(options_.scheme, overrides));
    quant_.scheme =
        scheme.empty() ? &DefaultQuantScheme(decoder_->checkpoint()) : TRY(FindQuantScheme(scheme));
    quant_.kv_bits = options_.kv_bits;
    quant_.algorithm = TRY(ParseAlgorithm(options_.algorithm));
    quant_.observer = TRY(ParseRangeRule(options_.observer));
    quant_.finetune = options_.finetune;
    quant_.lone_table = HasLoneTable(*decoder_, quant_);
    TRY(CheckStorage(*quant_.scheme, decoder_->checkpoint()));
    TRY(CheckQuantOptions(quant_, nullptr));
    for (const Target* target : targets_) TRY(CheckQuantOptions(quant_, target));
    TRY(SettleOverrides(overrides, *decoder_, targets_, quant_));
    report_.scheme = quant_.scheme->name;
    return {};
  }

  Result<void> SettleContexts() {
    const int64_t most = decoder_->config().max_context;
    if (options_.contexts.empty()) {
      options_.contexts = {static_cast<int>(std::min(kDefaultContext, most))};
      if (most < kDefaultContext)
        report_.warnings.push_back(
            fmt::format("the context is {}: the model was trained for no more", most));
      return CheckRows(options_);
    }
    const int longest = *std::ranges::max_element(options_.contexts);
    if (longest <= most) return {};
    return InvalidInput("a context of {} is longer than the model was trained for", longest)
        .At("{}", decoder_->checkpoint().where())
        .Want("at most {}", most)
        .Remedy("Convert with --context {} or less", most);
  }

  // A checkpoint without a tokenizer gives a package that takes token ids only.
  Result<void> ReadTokenizer() {
    Result<TokenizerFiles> files = decoder_->checkpoint().tokenizer_files();
    const bool is_needed =
        quant_.needs_calibration() && IsText(TRY(FindSourceKind(options_.calibration)));
    if (!files && files.error().code == Code::kNotFound && !is_needed) {
      report_.warnings.push_back(files.error().what + ": the package takes token ids only");
      return {};
    }
    if (!files) {
      Error error = std::move(files).error();
      if (is_needed) error.what += fmt::format(", and {} calibrates on text", report_.scheme);
      if (is_needed) {
        if (!error.remedy.empty() && !error.remedy.ends_with('.')) error.remedy += '.';
        if (!error.remedy.empty()) error.remedy += ' ';
        error.remedy += "Or convert with --quant f16, which needs no calibration";
      }
      return Failure(std::move(error));
    }
    tokenizer_files_ = *std::move(files);
    tokenizer_ = TRY(MakeTokenizer(tokenizer_files_, options_.model));
    CheckTemplate();
    const int64_t surplus = tokenizer_->vocab_size() - decoder_->config().vocab;
    if (surplus <= 0) return {};
    if (surplus <= kMaxSurplusTokens) {
      report_.warnings.push_back(
          fmt::format("the tokenizer has {} tokens that the model does not know", surplus));
      return {};
    }
    return InvalidInput("the tokenizer belongs to another model")
        .At("{}", decoder_->checkpoint().where())
        .Want("at most {} tokens, the model's vocabulary", decoder_->config().vocab)
        .Got("{}", tokenizer_->vocab_size())
        .Remedy("Take the tokenizer and the weights from the same download");
  }

  // A chat template that cannot be parsed makes a package that cannot chat, no worse.
  void CheckTemplate() {
    const std::string& config = tokenizer_files_.tokenizer_config_json;
    if (config.empty()) return;
    const auto chat = ChatTemplate::FromTokenizerConfig(OrderedJson::parse(config, nullptr, false));
    if (chat || chat.error().code == Code::kNotFound) return;
    report_.warnings.push_back("the chat template is not usable: " + chat.error().ToString());
  }

  Result<std::vector<std::vector<int32_t>>> CalibrationTokens() {
    if (!quant_.needs_calibration()) return std::vector<std::vector<int32_t>>();
    Samples samples =
        TRY(ReadSamples({.path = options_.calibration,
                         .tokenizer = tokenizer_.get(),
                         .tokenizer_config = tokenizer_files_.tokenizer_config_json,
                         .vocab = decoder_->config().vocab,
                         .tokens = static_cast<size_t>(options_.calibration_tokens)}));
    if (samples.used < samples.found) {
      report_.warnings.push_back(
          fmt::format("calibrated on the first {} of {} samples: they hold the {} tokens of "
                      "--calibration-tokens",
                      samples.used, samples.found, options_.calibration_tokens));
    }
    return std::move(samples.windows);
  }

  Result<void> Convert() {
    const std::string key = KeyOf(fingerprint_);
    PackageWriter writer =
        TRY(PackageWriter::Create(options_.output, {.inputs = {options_.model}, .key = key}));
    const Journal journal(writer.directory());
    if (!options_.only.empty()) {
      TRY(Quantise(writer, journal));
      writer.Keep();
      return {};
    }
    Result<void> done = Build(writer, journal);
    // The vendor library failed on one part: the others are good, and more memory or a newer
    // library may help.
    if (!done && done.error().code == Code::kVendor) writer.Keep();
    TRY(std::move(done));
    report_.files = FilesOf(options_.output);
    return {};
  }

  // Beside other parts of the same package: of what is there, nothing is changed or removed.
  Result<void> ConvertPart() {
    const std::string key = KeyOf(fingerprint_);
    const int unit_count = decoder_->unit_count();
    TRY(PartVariant({}, {}, nullptr));
    if (!fs::is_directory(StagedDirectory::PathOf(options_.output, key)))
      return NotQuantised("nothing of this conversion");
    PackageWriter writer = TRY(PackageWriter::Create(
        options_.output, {.inputs = {options_.model}, .key = key, .shared = true}));
    writer.Keep();
    const Journal journal(writer.directory());
    Result<void> quantised = TakeUpQuantised(journal, unit_count, writer);
    if (!quantised) return NotQuantised(quantised.error().what);
    const UnitSource units = UnitsOf(writer, unit_count);
    VariantArgs variant = TRY(PartVariant(units, writer.directory(), &journal));
    variant.progress = Scaled(0, 1);
    return CompilePart(variant, options_.only);
  }

  // The variant that the step is a part of.
  Result<VariantArgs> PartVariant(const UnitSource& units, const fs::path& directory,
                                  const Journal* journal) const {
    for (VariantArgs& variant : Variants(units, directory, journal)) {
      const std::string prefix = fmt::format("{}/{}.", variant.folder, variant.name);
      if (variant.target && options_.only.starts_with(prefix)) return std::move(variant);
    }
    return Usage("the conversion has no step '{}'", options_.only)
        .Want("{}, or a part for an SoC of --soc", kQuantiseStep)
        .Remedy("--plan lists the steps");
  }

  Failure NotQuantised(std::string_view found) const {
    return NotFound("step '{}' needs step '{}', which is not finished", options_.only,
                    kQuantiseStep)
        .At("{}", options_.output.string())
        .Got("{}", found)
        .Remedy("Run the same command with --only {} first", kQuantiseStep);
  }

  Result<void> Build(PackageWriter& writer, const Journal& journal) {
    const QuantisedModel model = TRY(Quantise(writer, journal));
    report_.parameters = model.parameters;
    report_.finetune = model.finetune;
    report_.bits_per_weight =
        model.bits / static_cast<double>(std::max<int64_t>(1, model.parameters));
    report_.kept = KeptWeightsOf(model.reports);
    report_.warnings.insert(report_.warnings.end(), model.warnings.begin(), model.warnings.end());
    const UnitSource units = UnitsOf(writer, decoder_->unit_count());
    Manifest manifest = TRY(DescribeModel());
    // What quantising took is free by now: the vendor library needs the memory more.
    writer.DropWeightPages();
    decoder_->checkpoint().DropPages();
    ReleaseFreeMemory();
    TRY(CompileVariants(units, writer, journal, manifest));
    TRY(AddTexts(writer, model, manifest));
    journal.Remove();
    return writer.Finish(manifest);
  }

  // Parts of the variants, while units are still being quantised; one step alone compiles nothing.
  // What cannot be planned is refused here, before the long work begins. CompileVariants plans
  // again: what the NPU takes can depend on how values came to be encoded.
  Result<std::unique_ptr<AheadCompiler>> Ahead(const PackageWriter& writer,
                                               const Journal& journal) const {
    const UnitSource sketch = SketchedUnits();
    std::vector<VariantArgs> variants;
    if (options_.only.empty()) variants = Variants(sketch, writer.directory(), &journal);
    for (VariantArgs& variant : variants) variant.partition = TRY(PartitionOf(variant));
    size_t memory = MemoryForParts(options_.memory);
    const size_t quantising = TRY(QuantisingBytes(sketch, quant_));
    if (memory > 0) memory = memory > quantising ? memory - quantising : 1;
    return std::make_unique<AheadCompiler>(std::move(variants), memory);
  }

  Result<QuantisedModel> Quantise(PackageWriter& writer, const Journal& journal) {
    const std::unique_ptr<AheadCompiler> ahead = TRY(Ahead(writer, journal));
    const QuantiseArgs args{.decoder = decoder_.get(),
                            .options = quant_,
                            .windows = TRY(CalibrationTokens()),
                            .pool = &pool_,
                            .journal = &journal,
                            .progress = Scaled(0, kQuantiseShare),
                            .finished = [&](const UnitSource& units) { ahead->Offer(units); }};
    if (tokenizer_) TRY(writer.AddText("tokenizer.json", tokenizer_files_.tokenizer_json));
    if (!tokenizer_files_.tokenizer_config_json.empty())
      TRY(writer.AddText("tokenizer_config.json", tokenizer_files_.tokenizer_config_json));
    tokenizer_.reset();  // the compilers' processes begin as copies of this one
    tokenizer_files_ = {};
    return QuantiseModel(args, writer);
  }

  // The part [from, to] of the whole, for a step that counts from 0 to 1.
  Progress Scaled(double from, double to) const {
    if (!options_.progress) return {};
    return [this, from, to](double fraction, std::string_view what) {
      options_.progress(from + (to - from) * fraction, what);
    };
  }

  Result<Manifest> DescribeModel() const {
    const DecoderConfig& config = decoder_->config();
    Manifest manifest{.hexlane_version = HEXLANE_VERSION,
                      .source = fs::absolute(options_.model).string(),
                      .architecture = std::string(decoder_->architecture().name),
                      .scheme = std::string(quant_.scheme->name),
                      .kv_bits = quant_.kv_bits,
                      .conversion = fingerprint_};
    manifest.plan.model = {.layers = static_cast<int>(config.layers),
                           .hidden = static_cast<int>(config.hidden),
                           .vocab = static_cast<int>(config.vocab),
                           .kv_heads = static_cast<int>(config.kv_heads),
                           .head_dim = static_cast<int>(config.head_dim),
                           .max_context = static_cast<int>(config.max_context),
                           .eos_ids = config.eos_ids};
    return manifest;
  }

  // Ascending rows, then contexts.
  std::vector<StageShape> Stages() const {
    const std::set<int> rows = {1, options_.prefill_rows};
    const std::set<int> contexts(options_.contexts.begin(), options_.contexts.end());
    std::vector<StageShape> stages;
    for (const int row_count : rows)
      for (const int context : contexts) stages.push_back({row_count, context});
    return stages;
  }

  std::vector<VariantArgs> Variants(const UnitSource& units, const fs::path& directory,
                                    const Journal* journal) const {
    VariantArgs args{.units = units,
                     .stages = Stages(),
                     .directory = directory,
                     .vendor_library = options_.vendor_library,
                     .memory = MemoryForParts(options_.memory),
                     .journal = journal};
    std::vector<VariantArgs> all;
    args.name = args.backend = args.folder = "cpu";
    all.push_back(args);
    args.backend = "qnn";
    for (const Target* target : targets_) {
      args.target = target;
      args.name = target->name, args.folder = "htp", args.share_weights = true;
      all.push_back(args);
      if (!options_.emulator) continue;
      args.name += "-emulator", args.folder = "emulator", args.share_weights = false;
      all.push_back(args);
    }
    return all;
  }

  Result<void> CompileVariants(const UnitSource& units, const PackageWriter& writer,
                               const Journal& journal, Manifest& manifest) {
    std::vector<VariantArgs> all = Variants(units, writer.directory(), &journal);
    for (VariantArgs& variant : all) TRY(Plan(variant));
    for (size_t i = 0; i < all.size(); ++i) {
      const double step = (1 - kQuantiseShare) / static_cast<double>(all.size());
      const double from = kQuantiseShare + step * static_cast<double>(i);
      all[i].progress = Scaled(from, from + step);
      TRY(Compile(all[i], manifest));
    }
    return {};
  }

  // Where the variant is cut, and what of it will run on the CPU instead.
  Result<void> Plan(VariantArgs& args) {
    args.partition = TRY(PartitionOf(args));
    if (args.folder != "htp") return {};
    for (const Refusal& refusal : args.partition.refusals) {
      report_.warnings.push_back(
          fmt::format("{}: {} {} cannot run on the NPU ({}); {} runs on the CPU", args.name,
                      refusal.op, refusal.node, refusal.reason, refusal.unit));
    }
    return {};
  }

  Result<void> Compile(const VariantArgs& args, Manifest& manifest) {
    TRY(CheckInterrupt());
    VariantResult result = TRY(CompileVariant(args));
    rss_with_child_ = std::max(rss_with_child_, RssBytes() + result.child_peak_rss_bytes);
    manifest.vendor.merge(result.versions);
    if (args.folder == "htp") TRY(MeasureBinary(args, result.variant));
    manifest.plan.variants.push_back(std::move(result.variant));
    return {};
  }

  // Bits per weight of the context binaries, over the parameters of the units in them.
  Result<void> MeasureBinary(const VariantArgs& args, const Variant& variant) {
    double bytes = 0, parameters = 0;
    for (const Part& part : variant.parts) {
      if (part.backend != "qnn") continue;
      for (const std::string& file : part.files)
        bytes += static_cast<double>(fs::file_size(args.directory / file));
      for (int unit = part.first_unit; unit < part.first_unit + part.unit_count; ++unit) {
        const Graph graph = TRY(args.units.load(unit));
        for (const Value& value : graph.values())
          if (value.constant) parameters += static_cast<double>(value.shape.elements());
      }
    }
    if (parameters > 0) report_.htp_bits_per_weight[variant.soc] = 8 * bytes / parameters;
    return {};
  }

  Result<void> AddTexts(PackageWriter& writer, const QuantisedModel& model,
                        const Manifest& manifest) {
    TRY(writer.AddText("generation_config.json",
                       decoder_->checkpoint().generation_config().dump(1)));
    Json report = {{"scheme", manifest.scheme},
                   {"algorithm", quant_.algorithm.name()},
                   {"overrides", options_.overrides.string()},
                   {"parameters", report_.parameters},
                   {"bits_per_weight", report_.bits_per_weight},
                   {"htp_bits_per_weight", report_.htp_bits_per_weight},
                   {"warnings", report_.warnings},
                   {"units", model.reports}};
    if (report_.finetune) report["finetune"] = ToJson(*report_.finetune);
    return writer.AddText("report.json",
                          report.dump(1, ' ', false, Json::error_handler_t::replace));
  }

  // The report of an earlier conversion, as the package keeps it.
  Result<ConvertReport> UpToDate() {
    report_.up_to_date = true;
    const std::string text = TRY(ReadTextFile(options_.output / "report.json"));
    const Json json = TRY(ParseJson(text, "report.json"));
    report_.parameters = TRY(JsonField<int64_t>(json, "parameters", "report.json"));
    report_.bits_per_weight = TRY(JsonField<double>(json, "bits_per_weight", "report.json"));
    report_.kept = KeptWeightsOf(*TRY(JsonArray(json, "units", "report.json")));
    for (const Target* target : targets_) {
      const Json* bits = TRY(JsonObject(json, "htp_bits_per_weight", "report.json"));
      report_.htp_bits_per_weight[std::string(target->name)] =
          TRY(JsonFieldOr<double>(*bits, target->name, 0.0, "report.json"));
    }
    if (json.contains("finetune")) report_.finetune = TRY(ReadSummary(json));
    report_.peak_rss_bytes = PeakRssBytes();
    report_.files = FilesOf(options_.output);
    return std::move(report_);
  }

  ConvertOptions options_;
  ThreadPool pool_;
  std::vector<const Target*> targets_;
  std::shared_ptr<const Decoder> decoder_;
  QuantOptions quant_;
  TokenizerFiles tokenizer_files_;
  std::unique_ptr<const Tokenizer>
      tokenizer_;  // null where the checkpoint has none, and after its use
  Json fingerprint_;
  ConvertReport report_;
  size_t rss_with_child_ = 0;  // this process and its largest child at the same time
};

}  // namespace

Result<ConvertReport> Convert(const ConvertOptions& options) { return Converter(options).Run(); }

Result<std::vector<ConvertJob>> PlanConversion(const ConvertOptions& options) {
  return Converter(options).Jobs();
}

}  // namespace hexlane
