#include "source_options.h"

namespace hexlane::cli {

std::shared_ptr<Verb> AddEval(CLI::App& app) {
  auto verb =
      AddVerb(app, "eval", "perplexity of a text, counted as llama.cpp's perplexity tool does");
  auto options = std::make_shared<EvalOptions>();
  auto stage = std::make_shared<std::string>("cpu");
  AddSourceOptions(*verb->app, options->source, kPackageOrCheckpoint);
  verb->app->add_option("--text", options->text, "text file")->required();
  verb->app->add_option("--stage", *stage, "float, quant, htp or cpu")->capture_default_str();
  verb->app->add_option("--window", options->window, "tokens; the second half is scored")
      ->capture_default_str()
      ->check(AtLeast(4));
  verb->app->add_option("--max-windows", options->max_windows, "0: all")
      ->capture_default_str()
      ->check(AtLeast(0));
  verb->action = [options, stage, common = verb->common]() -> Result<bool> {
    Complete(options->source, *common);
    options->stage = TRY(StageFromName(*stage));
    const EvalReport report = TRY(Evaluate(*options));
    EndProgress();
    if (common->json) {
      PrintJson({{"perplexity", report.perplexity},
                 {"tokens", report.tokens},
                 {"stage", report.stage},
                 {"windows", report.windows},
                 {"seconds", report.seconds}});
    } else {
      Show("perplexity {:.4f} ({} tokens scored in {} windows, stage {}, {:.1f} s)\n",
           report.perplexity, report.tokens, report.windows, report.stage, report.seconds);
    }
    return true;
  };
  return verb;
}

}  // namespace hexlane::cli
