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
  return json;
}

std::string NotEmpty(const std::string& text) { return text.empty() ? "must not be empty" : ""; }

// What decides the package's content.
void AddContentOptions(CLI::App& app, ConvertOptions& options) {
  app.add_option(
      "--quant", options.scheme,
      "f16, w8a16, w4a16, w4-exact and others: docs/quant.md (default: what suits the checkpoint)");
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
                 "JSON: rules that give matrices and values another form, or AIMET's encodings");
  app.add_option("--kv", options.kv_bits, "bits of cached keys and values: 8 or 16")
      ->capture_default_str();
  app.add_option("--calibration", options.calibration,
                 "what to calibrate on: a text, a folder of texts, JSON lines of chats or token "
                 "ids, a .npy array of ids, or an input_list.txt (default: a built-in text)");
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

}  // namespace

std::shared_ptr<Verb> AddConvert(CLI::App& app) {
  auto verb =
      AddVerb(app, "convert",
              "make a package from a checkpoint: quantise, compile for the NPU and the CPU");
  auto options = std::make_shared<ConvertOptions>();
  auto plan = std::make_shared<std::string>();
  verb->app->add_option("MODEL", options->model, "Hugging Face folder or .gguf file")->required();
  auto* output = verb->app->add_option("-o,--output", options->output,
                                       "package folder (default: MODEL's name with .hexlane)");
  AddContentOptions(*verb->app, *options);
  verb->app->add_flag("--force", options->force, "convert even when the package is up to date");
  auto* plan_option =
      verb->app
          ->add_option("--plan", *plan,
                       "write the conversion's jobs to this file, for other machines, and end")
          ->check(NotEmpty);
  verb->app->add_option("--only", options->only, "one job of a plan alone: quantise, or a part")
      ->check(NotEmpty)
      ->excludes(plan_option);
  verb->action = [options, plan, output, common = verb->common]() -> Result<bool> {
    TRY(NameOutput(*output, *options));
    options->threads = common->threads;
    options->vendor_library = common->qnn;
    options->progress = ProgressBar(*common);
    if (plan->empty())
      TRY(ConvertAndPrint(*options, common->json));
    else
      TRY(WritePlan(*options, *plan, common->json));
    return true;
  };
  return verb;
}

}  // namespace hexlane::cli
