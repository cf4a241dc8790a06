#include "source_options.h"

namespace hexlane::cli {
namespace {

struct EvalArguments {
  EvalOptions text;  // its source and stage also serve for questions
  MultipleChoiceOptions choice;
  std::string stage = "cpu";
  std::string against;
};

Json Describe(const TextComparison& comparison) {
  return {{"stage", comparison.stage},
          {"perplexity", comparison.perplexity},
          {"log_perplexity_increase", comparison.log_perplexity_increase},
          {"log_perplexity_increase_stderr", comparison.log_perplexity_increase_stderr},
          {"log_perplexity_mean_abs_difference", comparison.log_perplexity_mean_abs_difference},
          {"kl_mean", comparison.kl_mean},
          {"kl_p99", comparison.kl_p99},
          {"kl_max", comparison.kl_max},
          {"top1", comparison.top1}};
}

Json Describe(const EvalReport& report) {
  Json json = {{"perplexity", report.perplexity}, {"tokens", report.tokens},
               {"stage", report.stage},           {"windows", report.windows},
               {"seconds", report.seconds},       {"warnings", report.warnings}};
  if (report.against) json["against"] = Describe(*report.against);
  return json;
}

Json Describe(const MultipleChoiceReport& report) {
  return {{"questions", report.questions},
          {"acc", report.acc.value},
          {"acc_stderr", report.acc.standard_error},
          {"acc_norm", report.acc_norm.value},
          {"acc_norm_stderr", report.acc_norm.standard_error},
          {"acc_bytes", report.acc_bytes.value},
          {"acc_bytes_stderr", report.acc_bytes.standard_error},
          {"log_likelihoods", report.log_likelihoods},
          {"stage", report.stage},
          {"seconds", report.seconds}};
}

void ShowReport(const EvalReport& report) {
  Show("perplexity {:.4f} ({} tokens scored in {} windows, stage {}, {:.1f} s)\n",
       report.perplexity, report.tokens, report.windows, report.stage, report.seconds);
  PrintWarnings(report.warnings);
  if (!report.against) return;
  const TextComparison& against = *report.against;
  Show("against {}: perplexity {:.4f}\n", against.stage, against.perplexity);
  Show("log-perplexity {:+.5f} ± {:.5f} nats, single tokens differ by {:.5f}\n",
       against.log_perplexity_increase, against.log_perplexity_increase_stderr,
       against.log_perplexity_mean_abs_difference);
  Show("KL divergence {:.6f} nats, 99th percentile {:.6f}, greatest {:.6f}\n", against.kl_mean,
       against.kl_p99, against.kl_max);
  Show("same best token {:.2f} %\n", 100 * against.top1);
}

void ShowReport(const MultipleChoiceReport& report) {
  const auto show = [](std::string_view name, const Accuracy& accuracy) {
    Show("{:10}{:.4f} ± {:.4f}\n", name, accuracy.value, accuracy.standard_error);
  };
  Show("{} questions, stage {}, {:.1f} s\n", report.questions, report.stage, report.seconds);
  show("acc", report.acc);
  show("acc_norm", report.acc_norm);
  show("acc_bytes", report.acc_bytes);
}

template <typename Report>
Result<bool> Finish(const Report& report, bool json) {
  EndProgress();
  if (json)
    PrintJson(Describe(report));
  else
    ShowReport(report);
  return true;
}

Result<bool> RunEval(EvalArguments& arguments, const Common& common) {
  EvalOptions& text = arguments.text;
  Complete(text.source, common);
  text.stage = TRY(StageFromName(arguments.stage));
  if (!arguments.choice.questions.empty()) {
    arguments.choice.source = text.source;
    arguments.choice.stage = text.stage;
    return Finish(TRY(EvaluateMultipleChoice(arguments.choice)), common.json);
  }
  if (!arguments.against.empty()) text.against = TRY(StageFromName(arguments.against));
  return Finish(TRY(Evaluate(text)), common.json);
}

void AddTextOptions(CLI::App& app, EvalArguments& arguments, CLI::Option* questions) {
  CLI::Option* text = app.get_option("--text");
  const auto add = [&](CLI::Option* option) { option->needs(text)->excludes(questions); };
  add(app.add_option("--window", arguments.text.window, "tokens; the second half is scored")
          ->capture_default_str()
          ->check(AtLeast(4)));
  add(app.add_option("--max-windows", arguments.text.max_windows,
                     "0: all. The htp stage compiles first and is slow: take one or two, of a "
                     "small --window")
          ->capture_default_str()
          ->check(AtLeast(0)));
  add(app.add_option("--against", arguments.against,
                     "compare with this stage, float or quant: KL divergence, same best token")
          ->check(NotEmpty()));
  add(app.add_option("--reference", arguments.text.reference,
                     "file that keeps what --against float computes: written where there is none, "
                     "read otherwise; 2 bytes x vocabulary for each scored token")
          ->check(NotEmpty()));
}

}  // namespace

std::shared_ptr<Verb> AddEval(CLI::App& app) {
  auto verb = AddVerb(app, "eval",
                      "perplexity of a text, counted as llama.cpp's perplexity tool does, and its "
                      "distance from the float model; accuracy over multiple-choice questions");
  auto arguments = std::make_shared<EvalArguments>();
  AddSourceOptions(*verb->app, arguments->text.source, kPackageOrCheckpoint);
  verb->app->add_option("--stage", arguments->stage, "float, quant, htp or cpu")
      ->capture_default_str();
  auto* what = verb->app->add_option_group("what");
  what->add_option("--text", arguments->text.text, "text file");
  auto* questions =
      what->add_option("--multiple-choice", arguments->choice.questions,
                       "JSONL file: {\"context\", \"choices\": [...], \"answer\": index} a line");
  what->require_option(1);
  AddTextOptions(*verb->app, *arguments, questions);
  verb->app
      ->add_option("--max-questions", arguments->choice.max_questions,
                   "0: all. The htp stage compiles first and is slow: take a few")
      ->capture_default_str()
      ->check(AtLeast(0))
      ->needs(questions);
  verb->action = [arguments, common = verb->common]() -> Result<bool> {
    return RunEval(*arguments, *common);
  };
  return verb;
}

}  // namespace hexlane::cli
