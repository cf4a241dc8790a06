#include "source_options.h"

namespace hexlane::cli {
namespace {

Json ToJson(const LayerComparison& layer) {
  return {{"index", layer.index},     {"name", layer.name},     {"stage", layer.stage},
          {"against", layer.against}, {"cosine", layer.cosine}, {"snr_db", layer.snr_db}};
}

Json OrNull(const std::optional<LayerComparison>& layer) { return layer ? ToJson(*layer) : Json(); }

Json ToJson(const VerifyReport& report) {
  Json stages = Json::array(), layers = Json::array(), greedy = Json::array();
  for (const StageComparison& stage : report.stages) {
    stages.push_back({{"name", stage.name},
                      {"against", stage.against},
                      {"cosine", stage.cosine},
                      {"max_rel_error", stage.max_rel_error},
                      {"snr_db", stage.snr_db},
                      {"top1", stage.top1 ? Json(*stage.top1) : Json()}});
  }
  for (const LayerComparison& layer : report.layers) layers.push_back(ToJson(layer));
  for (const GreedyComparison& one : report.greedy) {
    greedy.push_back({{"stage", one.stage},
                      {"tokens", one.tokens},
                      {"agrees", one.agrees},
                      {"first_difference", one.first_difference},
                      {"margin", one.margin}});
  }
  return {{"tokens", report.tokens},
          {"stages", stages},
          {"layers", layers},
          {"greedy", greedy},
          {"faithful", report.faithful},
          {"loss_ok", report.loss_ok},
          {"first_failure",
           report.faithful ? OrNull(report.first_loss_failure) : OrNull(report.first_failure)},
          {"warnings", report.warnings},
          {"pass", report.pass()}};
}

void PrintVerdict(std::string_view name, bool ok, const std::optional<LayerComparison>& first) {
  Show("{:<9} {}", name, ok ? "yes" : "NO");
  if (first)
    Show(": {} of {} has cosine {:.6f} to {}", first->name, first->stage, first->cosine,
         first->against);
  Show("\n");
}

void Print(const VerifyReport& report) {
  Show("{} tokens\n{:<11} {:<8} {:>10} {:>14} {:>9} {:>7} {:>13}\n", report.tokens, "stage",
       "against", "cosine", "max rel error", "SNR dB", "top-1", "worst layer");
  for (const StageComparison& stage : report.stages) {
    double worst = 1;
    for (const LayerComparison& layer : report.layers)
      if (layer.stage == stage.name) worst = std::min(worst, layer.cosine);
    const std::string top1 = stage.top1 ? fmt::format("{:.0f}%", 100 * *stage.top1) : "-";
    Show("{:<11} {:<8} {:>10.6f} {:>14.2e} {:>9.1f} {:>7} {:>13.6f}\n", stage.name, stage.against,
         stage.cosine, stage.max_rel_error, stage.snr_db, top1, worst);
  }
  for (const GreedyComparison& one : report.greedy) {
    Show("{} greedy tokens on {}: {}", one.tokens.size(), one.stage,
         one.agrees ? "agree" : "DIFFER");
    if (one.first_difference >= 0)
      Show(" (token {} differs by {:.3f} in the reference's logits)", one.first_difference,
           one.margin);
    Show("\n");
  }
  PrintWarnings(report.warnings);
  PrintVerdict("faithful", report.faithful, report.first_failure);
  PrintVerdict("loss ok", report.loss_ok, report.first_loss_failure);
}

}  // namespace

std::shared_ptr<Verb> AddVerify(CLI::App& app) {
  auto verb = AddVerb(
      app, "verify",
      "compare float, quantised, NPU graph (emulator), its binary, and CPU, layer by layer");
  auto options = std::make_shared<VerifyOptions>();
  AddSourceOptions(*verb->app, options->source, "package");
  verb->app->add_option("-p,--prompt", options->text, "text to run (default: built in)");
  verb->app->add_option("--max-tokens", options->max_tokens, "of the text")
      ->capture_default_str()
      ->check(AtLeast(2));
  verb->app
      ->add_option("--layers", options->layers,
                   "only the first so many decoder layers (default: all, and the head)")
      ->check(AtLeast(1));
  verb->app->add_option("--max-loss", options->max_loss, "least cosine of quantised to float")
      ->capture_default_str()
      ->check(Between(-1, 1));
  verb->app
      ->add_option("--min-faithful", options->min_faithful,
                   "least cosine of NPU and CPU to quantised")
      ->capture_default_str()
      ->check(Between(-1, 1));
  verb->app
      ->add_option("--greedy", options->greedy_tokens, "also generate so many tokens and compare")
      ->capture_default_str()
      ->check(AtLeast(0));
  verb->app->add_option("--question", options->greedy_prompt,
                        "what --greedy asks (default: built in)");
  verb->action = [options, common = verb->common]() -> Result<bool> {
    Complete(options->source, *common);
    const VerifyReport report = TRY(VerifyModel(*options));
    EndProgress();
    if (common->json)
      PrintJson(ToJson(report));
    else
      Print(report);
    return report.pass();
  };
  return verb;
}

}  // namespace hexlane::cli
