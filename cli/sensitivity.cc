#include <charconv>

#include "verb.h"

namespace hexlane::cli {
namespace {

struct SensitivityArguments {
  SensitivityOptions options;
  std::string by = "matrix";
  std::string max_increase;  // "1%" or nats
};

Json Describe(const MixedQuality& quality) {
  return {{"bits_per_weight", quality.bits_per_weight},
          {"overrides", quality.overrides},
          {"kl", quality.kl},
          {"log_perplexity_increase", quality.log_perplexity_increase}};
}

Json Describe(const SensitivityReport& report) {
  Json json = {{"scheme", report.scheme},         {"tokens", report.tokens},
               {"parameters", report.parameters}, {"ranking", Json::array()},
               {"seconds", report.seconds},       {"peak_rss_bytes", report.peak_rss_bytes}};
  for (const MatrixDamage& damage : report.ranking)
    json["ranking"].push_back({{"name", damage.name},
                               {"scheme", damage.scheme},
                               {"parameters", damage.parameters},
                               {"kl", damage.kl},
                               {"snr_db", damage.snr_db},
                               {"measured", damage.measured}});
  if (report.uniform) json["uniform"] = Describe(*report.uniform);
  if (report.mixed) json["mixed"] = Describe(*report.mixed);
  return json;
}

void ShowQuality(std::string_view name, const MixedQuality& quality) {
  Show("{:<12} {:.3f} bits per weight, KL divergence {:.6f}, log-perplexity {:+.5f} nats\n", name,
       quality.bits_per_weight, quality.kl, quality.log_perplexity_increase);
}

void ShowReport(const SensitivityReport& report) {
  Show("{:<28} {:<12} {:>10}  {:>8}\n", "rounded alone", "to", "KL, nats", "SNR, dB");
  for (const MatrixDamage& damage : report.ranking)
    Show("{:<28} {:<12} {:>10.6f}  {:>8.1f}{}\n", damage.name, damage.scheme, damage.kl,
         damage.snr_db, damage.measured ? "" : "  estimated");
  Show("{} tokens, {:.1f} s, peak memory {:.0f} MiB\n", report.tokens, report.seconds,
       static_cast<double>(report.peak_rss_bytes) / (1 << 20));
  if (report.uniform) ShowQuality(report.scheme, *report.uniform);
  if (report.mixed) ShowQuality("mixed", *report.mixed);
}

// "1%" or "0.01": nats; a growth of the perplexity by one per cent, nearly.
Result<double> ParseIncrease(std::string_view text) {
  const bool percent = text.ends_with('%');
  const std::string_view digits = text.substr(0, text.size() - percent);
  double value = 0;
  const auto [end, error] = std::from_chars(digits.begin(), digits.end(), value);
  if (error == std::errc() && end == digits.end() && value > 0)
    return percent ? value / 100 : value;
  return Usage("--max-ppl-increase '{}'", text).Want("a positive number such as 1% or 0.01");
}

Result<bool> RunSensitivity(SensitivityArguments& arguments, const Common& common) {
  SensitivityOptions& options = arguments.options;
  options.by_layer = arguments.by == "layer";
  if (!arguments.max_increase.empty())
    options.max_increase = TRY(ParseIncrease(arguments.max_increase));
  options.threads = common.threads;
  options.progress = ProgressBar(common);
  const SensitivityReport report = TRY(AnalyseSensitivity(options));
  EndProgress();
  if (common.json)
    PrintJson(Describe(report));
  else
    ShowReport(report);
  return true;
}

void AddOptions(CLI::App& app, SensitivityArguments& arguments) {
  SensitivityOptions& options = arguments.options;
  app.add_option("MODEL", options.model, "Hugging Face folder or .gguf file")->required();
  app.add_option("--quant", options.scheme, "scheme whose rounding is judged")
      ->capture_default_str();
  app.add_option("--algorithm", options.algorithm, "what convert will be given: search, gptq, bias")
      ->capture_default_str();
  app.add_option("--soc", options.socs,
                 "NPUs that must take the forms that are chosen (default: any one will do)")
      ->delimiter(',')
      ->allow_extra_args(false);
  app.add_option("--by", arguments.by, "what is rounded alone: matrix or layer")
      ->capture_default_str()
      ->check(CLI::IsMember({"matrix", "layer"}));
  app.add_option("--text", options.text, "text to judge on (default: the built-in one)");
  app.add_option("--tokens", options.tokens, "of the text")
      ->capture_default_str()
      ->check(AtLeast(2));
  app.add_option("--measured", options.measured,
                 "matrices whose own divergence is measured; that of others is estimated")
      ->capture_default_str()
      ->check(AtLeast(0));
  app.add_option("--max-bits", options.max_bits, "bits per weight that may be spent")
      ->check(AtLeast(1));
  app.add_option("--max-ppl-increase", arguments.max_increase,
                 "growth of the log-perplexity over float that is allowed, e.g. 1%")
      ->check(NotEmpty());
  app.add_option("-o,--output", options.output,
                 "file for the choice within the budget: convert --overrides takes it")
      ->check(NotEmpty());
}

}  // namespace

std::shared_ptr<Verb> AddSensitivity(CLI::App& app) {
  auto verb = AddVerb(app, "sensitivity",
                      "rank matrices by the damage that rounding each alone does, and give bits to "
                      "those that need them");
  auto arguments = std::make_shared<SensitivityArguments>();
  AddOptions(*verb->app, *arguments);
  verb->action = [arguments, common = verb->common]() -> Result<bool> {
    return RunSensitivity(*arguments, *common);
  };
  return verb;
}

}  // namespace hexlane::cli
