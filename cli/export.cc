#include "verb.h"

namespace hexlane::cli {
namespace {

using Exporter = Result<ExportReport> (*)(const ExportOptions&);

void Print(const ExportReport& report, const std::string& output) {
  Show("{}: {}, rows {}, context {}, in {:.1f} s\n", output, report.soc,
       fmt::join(report.rows, " and "), report.context, report.seconds);
  for (const PackageFile& file : report.files)
    Show("  {:<40} {:10.1f} kB\n", file.path, static_cast<double>(file.bytes) / 1e3);
}

Json ToJson(const ExportReport& report) {
  Json files = Json::array();
  for (const PackageFile& file : report.files)
    files.push_back({{"path", file.path}, {"bytes", file.bytes}});
  return {{"soc", report.soc},
          {"rows", report.rows},
          {"context", report.context},
          {"seconds", report.seconds},
          {"files", files}};
}

// `export NAME`: the options that all exports have, those of exports that compile, and what makes
// them.
std::shared_ptr<Verb> AddExport(CLI::App& group, const std::string& name,
                                const std::string& summary, Exporter exporter, bool compiles) {
  auto verb = AddVerb(group, name, summary);
  auto options = std::make_shared<ExportOptions>();
  verb->app->add_option("PACKAGE", options->package, "package folder")->required();
  verb->app->add_option("-o,--output", options->output, "folder to write")->required();
  verb->app->add_option("--soc", options->soc, "SoC to export for (default: the package's first)");
  verb->app->add_flag("--emulator", options->emulator,
                      "binaries for the x86_64 emulator of the NPU instead of a phone");
  verb->app
      ->add_option("--context", options->context, "positions of the cache (default: the package's)")
      ->check(AtLeast(0));
  verb->app
      ->add_option("--prefill-rows", options->prefill_rows,
                   "prompt tokens processed at once (default: the package's)")
      ->check(AtLeast(0));
  if (compiles) AddMemory(*verb->app, options->memory);
  verb->action = [options, exporter, common = verb->common]() -> Result<bool> {
    options->vendor_library = common->qnn;
    options->progress = ProgressBar(*common);
    const ExportReport report = TRY(exporter(*options));
    EndProgress();
    if (common->json)
      PrintJson(ToJson(report));
    else
      Print(report, options->output.string());
    return true;
  };
  return verb;
}

// `export encodings`: one file of text, where the others make folders.
std::shared_ptr<Verb> AddExportEncodings(CLI::App& group) {
  struct Arguments {
    std::filesystem::path package, output;
  };
  auto verb = AddVerb(group, "encodings", "scales and offsets as JSON for other QNN tools (AIMET)");
  auto arguments = std::make_shared<Arguments>();
  verb->app->add_option("PACKAGE", arguments->package, "package folder")->required();
  verb->app->add_option("-o,--output", arguments->output, "file to write")->required();
  verb->action = [arguments, common = verb->common]() -> Result<bool> {
    TRY(ExportEncodings(arguments->package, arguments->output));
    if (common->json)
      PrintJson({{"output", arguments->output.string()}});
    else
      Show("{}\n", arguments->output.string());
    return true;
  };
  return verb;
}

}  // namespace

std::vector<std::shared_ptr<Verb>> AddExports(CLI::App& app) {
  CLI::App* group = app.add_subcommand("export", "write a package for another runtime");
  group->require_subcommand(1);
  return {AddExport(*group, "genie", "for Qualcomm's Genie (libGenie.so)", ExportGenie, true),
          AddExport(*group, "ort", "for ONNX Runtime with Qualcomm's execution provider", ExportOrt,
                    false),
          AddExportEncodings(*group)};
}

}  // namespace hexlane::cli
