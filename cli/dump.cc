#include "source_options.h"

namespace hexlane::cli {

std::shared_ptr<Verb> AddDump(CLI::App& app) {
  auto verb = AddVerb(app, "dump", "write ids, every layer's output and all logits as .npy");
  auto options = std::make_shared<DumpOptions>();
  auto stage = std::make_shared<std::string>("quant");
  auto list = std::make_shared<std::string>();
  AddSourceOptions(*verb->app, options->source, kPackageOrCheckpoint);
  auto* ids = verb->app->add_option("--ids", *list, "token ids, e.g. 1,2,3");
  verb->app->add_option("-p,--prompt", options->text, "text")->excludes(ids);
  verb->app->add_option("--stage", *stage, "float, quant, htp or cpu")->capture_default_str();
  verb->app->add_option("-o,--output", options->output, "folder")->required();
  verb->action = [options, stage, list, ids, common = verb->common]() -> Result<bool> {
    if (ids->count() > 0) options->ids = TRY(ParseIds("--ids", *list));
    Complete(options->source, *common);
    options->stage = TRY(StageFromName(*stage));
    const std::vector<std::string> files = TRY(Dump(*options));
    EndProgress();
    if (common->json)
      PrintJson({{"stage", *stage}, {"output", options->output.string()}, {"files", files}});
    else
      Show("{} files in {}\n", files.size(), options->output.string());
    return true;
  };
  return verb;
}

}  // namespace hexlane::cli
