#include "convert_plan.h"
#include "verb.h"

namespace hexlane::cli {
namespace {

void PrintKept(const KeptWeights& kept) {
  Show("{} of {} matrices in the checkpoint's own integers, {} of them exactly\n", kept.kept,
       kept.matrices, kept.exact);
  for (const KeptWeights::Loss& loss : kept.losses)
    Show("  {:<12} lost most in {}: signal to error {:.1f} dB\n", loss.unit, loss.weight,
         loss.snr_db);
}

Json ToJson(const KeptWeights& kept) {
  Json losses = Json::array();
  for (const KeptWeights::Loss& loss : kept.losses)
    losses.push_back({{"unit", loss.unit}, {"weight", loss.weight}, {"snr_db", loss.snr_db}});
  return {
      {"matrices", kept.matrices}, {"kept", kept.kept}, {"exact", kept.exact}, {"losses", losses}};
}

void Print(const ConvertReport& report, const std::string& output) {
  if (report.up_to_date)
    Show("{} is up to date ({})\n", output, report.scheme);
  else
    Show("{}: {} in {:.1f} s, peak memory {:.0f} MiB\n", output, report.scheme, report.seconds,
         static_cast<double>(report.peak_rss_bytes) / (1 << 20));
  Show("{:.1f} M parameters, {:.2f} bits per weight\n",
       static_cast<double>(report.parameters) / 1e6, report.bits_per_weight);
  if (report.kept) PrintKept(*report.kept);
  for (const auto& [soc, bits] : report.htp_bits_per_weight)
    Show("{} context binary: {:.2f} bits per weight in it\n", soc, bits);
  if (report.finetune)
    Show("{} of {} layers better by training: error {:.5f} → {:.5f} on text held out\n",
         report.finetune->improved, report.finetune->layers, report.finetune->error_before,
         report.finetune->error_after);
  for (const PackageFile& file : report.files)
    if (file.bytes >= 1 << 20)
      Show("  {:<32} {:8.1f} MB\n", file.path, static_cast<double>(file.bytes) / 1e6);
  PrintWarnings(report.warnings);
}

Json ToJson(const ConvertReport& report) {
  Json files = Json::array();
  for (const PackageFile& file : report.files)
    files.push_back({{"path", file.path}, {"bytes", file.bytes}});
  Json json = {{"seconds", report.seconds},
               {"peak_rss_bytes", report.peak_rss_bytes},
               {"files", files},
               {"scheme", report.scheme},
               {"parameters", report.parameters},
               {"bits_per_weight", report.bits_per_weight},
               {"htp_bits_per_weight", report.htp_bits_per_weight},
               {"up_to_date", report.up_to_date},
               {"warnings", report.warnings}};
  if (report.kept) json["kept"] = ToJson(*report.kept);
  if (report.finetune)
    json["finetune"] = {{"layers", report.finetune->layers},
                        {"improved", report.finetune->improved},
                        {"error_before", report.finetune->error_before},
                        {"error_after", report.finetune->error_after}};
  return json;
}

// What decides the package's content.
void AddContentOptions(CLI::App& app, ConvertOptions& options) {
  app.add_option("--quant", options.scheme, "f16, w8a16, w4a16, w4-exact and others: docs/quant.md")
      ->default_str(options.scheme.empty() ? "what suits the checkpoint" : options.scheme)
      ->check(NotEmpty());
  app.add_option("--soc", options.socs, "SoCs to compile for, e.g. SM8650 (default: CPU only)")
      ->delimiter(',')
      ->allow_extra_args(false);
  app.add_option("--context", options.contexts,
                 "positions of the cache (default: 512, or the model's maximum if less); several: "
                 "graphs for each, sharing the weights")
      ->delimiter(',')
      ->allow_extra_args(false);
  app.add_option("--prefill-rows", options.prefill_rows, "prompt tokens processed at once")
      ->capture_default_str();
  app.add_option(
         "--algorithm", options.algorithm,
         "how the layers' weights are rounded: rtn, or steps joined by '+': rotate, smooth, "
         "awq, search, gptq, bias")
      ->capture_default_str();
  app.add_option("--overrides", options.overrides,
                 "JSON: rules that give matrices and values another form, or AIMET's encodings")
      ->check(NotEmpty());
  app.add_option("--kv", options.kv_bits, "bits of cached keys and values: 8 or 16")
      ->capture_default_str();
  app.add_option("--calibration", options.calibration,
                 "what to calibrate on: a text, a folder of texts, JSON lines of chats or token "
                 "ids, a .npy array of ids, or an input_list.txt (default: a built-in text)")
      ->check(NotEmpty());
  app.add_option("--calibration-tokens", options.calibration_tokens,
                 "tokens of it, from its beginning")
      ->capture_default_str();
  app.add_option("--observer", options.observer,
                 "how much of what calibration saw activations hold: minmax, percentile, "
                 "percentile:P, mse or entropy")
      ->capture_default_str();
  AddMemory(app, options.memory);
  app.add_flag("--emulator", options.emulator,
               "also binaries that the x86_64 emulator of the NPU can load");
}

Result<void> NameOutput(const CLI::Option& given, ConvertOptions& options) {
  if (!options.output.empty()) return {};
  if (given.count() > 0) {
    return Usage("--output is empty").Want("a folder").Remedy("Name one, or leave the option out");
  }
  const std::filesystem::path name = std::filesystem::absolute(options.model / "");
  options.output = name.lexically_normal().parent_path().stem().string() + ".hexlane";
  return {};
}

Result<void> ConvertAndPrint(const ConvertOptions& options, bool json) {
  const ConvertReport report = TRY(Convert(options));
  EndProgress();
  const std::string output = options.output.string();
  if (json)
    PrintJson(ToJson(report));
  else if (!options.only.empty() && !report.up_to_date)
    Show("{}: {} finished in {:.1f} s\n", output, options.only, report.seconds);
  else
    Print(report, output);
  return {};
}

// MODEL, output and content; returns the output's option.
const CLI::Option* AddModelOptions(CLI::App& app, ConvertOptions& options) {
  app.add_option("MODEL", options.model, "Hugging Face folder or .gguf file")->required();
  const CLI::Option* output = app.add_option(
      "-o,--output", options.output, "package folder (default: MODEL's name with .hexlane)");
  AddContentOptions(app, options);
  app.add_flag("--force", options.force, "convert even when the package is up to date");
  return output;
}

// What is not the verb's own: where the package goes, threads, library, progress.
Result<void> Complete(const CLI::Option& output, const Common& common, ConvertOptions& options) {
  TRY(NameOutput(output, options));
  options.threads = common.threads;
  options.vendor_library = common.qnn;
  options.progress = ProgressBar(common);
  return {};
}

void AddTrainingOptions(CLI::App& app, FinetuneOptions& options) {
  app.add_option("--epochs", options.epochs, "passes over the calibration text")
      ->capture_default_str()
      ->check(AtLeast(1));
  app.add_option("--learning-rate", options.learning_rate,
                 "how far a step moves a weight at first, in integers")
      ->capture_default_str()
      ->check(Between(0, 1));
  app.add_option("--rank", options.rank,
                 "train a low-rank update of each matrix: less memory; 0: every weight")
      ->capture_default_str()
      ->check(AtLeast(0));
}

}  // namespace

std::shared_ptr<Verb> AddFinetune(CLI::App& app) {
  auto verb = AddVerb(app, "finetune",
                      "make a package as convert does, its quantised layers trained to give what "
                      "the float ones give");
  auto options = std::make_shared<ConvertOptions>();
  options->scheme = "w4a16";
  options->algorithm = "search+gptq";
  options->calibration_tokens = 16384;
  options->finetune.emplace();
  const CLI::Option* output = AddModelOptions(*verb->app, *options);
  AddTrainingOptions(*verb->app, *options->finetune);
  verb->action = [options, output, common = verb->common]() -> Result<bool> {
    TRY(Complete(*output, *common, *options));
    TRY(ConvertAndPrint(*options, common->json));
    return true;
  };
  return verb;
}

std::shared_ptr<Verb> AddConvert(CLI::App& app) {
  auto verb =
      AddVerb(app, "convert",
              "make a package from a checkpoint: quantise, compile for the NPU and the CPU");
  auto options = std::make_shared<ConvertOptions>();
  auto plan = std::make_shared<std::string>();
  const CLI::Option* output = AddModelOptions(*verb->app, *options);
  auto* plan_option =
      verb->app
          ->add_option("--plan", *plan,
                       "write the conversion's jobs to this file, for other machines, and end")
          ->check(NotEmpty());
  verb->app->add_option("--only", options->only, "one job of a plan alone: quantise, or a part")
      ->check(NotEmpty())
      ->excludes(plan_option);
  verb->action = [options, plan, output, common = verb->common]() -> Result<bool> {
    TRY(Complete(*output, *common, *options));
    if (plan->empty())
      TRY(ConvertAndPrint(*options, common->json));
    else
      TRY(WritePlan(*options, *plan, common->json));
    return true;
  };
  return verb;
}

}  // namespace hexlane::cli
