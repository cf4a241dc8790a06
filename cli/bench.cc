#include <algorithm>

#include "generate_options.h"

namespace hexlane::cli {
namespace {

struct BenchSetup : GenerateSetup {
  int prompt_tokens = 128;
  int decode_tokens = 64;
  int repetitions = 5;
};

// The run whose `figure` is in the middle.
double Median(const std::vector<GenerateStats>& runs, double GenerateStats::* figure) {
  std::vector<double> values;
  for (const GenerateStats& run : runs) values.push_back(run.*figure);
  std::nth_element(values.begin(), values.begin() + static_cast<ptrdiff_t>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

Json Summary(const EngineInfo& info, const BenchSetup& setup,
             const std::vector<GenerateStats>& runs) {
  Json all = Json::array();
  for (const GenerateStats& run : runs) all.push_back(ToJson(run));
  return {{"prefill_tok_s", Median(runs, &GenerateStats::prefill_tok_s)},
          {"decode_tok_s", Median(runs, &GenerateStats::decode_tok_s)},
          {"first_token_ms", Median(runs, &GenerateStats::first_token_ms)},
          {"load_ms", info.load.total * 1000},
          {"peak_rss_bytes", runs.back().peak_rss_bytes},
          {"stages", ToJson(runs.back())["stages"]},
          {"variant", info.variant},
          {"scheme", info.scheme},
          {"threads", info.threads},
          {"prompt_tokens", setup.prompt_tokens},
          {"decode_tokens", setup.decode_tokens},
          {"repetitions", setup.repetitions},
          {"runs", all}};
}

Result<void> CheckFits(const BenchSetup& setup, int64_t capacity) {
  const int64_t positions = int64_t{setup.prompt_tokens} + setup.decode_tokens;
  if (positions <= capacity) return {};
  return InvalidInput("{} prompt and {} decode tokens do not fit the context", setup.prompt_tokens,
                      setup.decode_tokens)
      .At("{}", setup.package)
      .Want("at most {} together", capacity)
      .Remedy(
          "Give fewer --prompt-tokens or --decode-tokens, or convert the model with a larger "
          "--context");
}

Result<bool> Bench(BenchSetup& setup, const Common& common) {
  const auto engine = TRY(OpenEngine(setup, common));
  const auto session = TRY(engine->NewSession());
  TRY(CheckFits(setup, session->capacity()));
  std::vector<int32_t> ids(static_cast<size_t>(setup.prompt_tokens));
  for (size_t i = 0; i < ids.size(); ++i)  // any ids do: the work does not depend on them
    ids[i] = static_cast<int32_t>((7919 * i + 13) % static_cast<size_t>(engine->info().vocab));
  setup.generate.max_tokens = setup.decode_tokens + 1;  // the first belongs to the prompt
  setup.generate.ignore_eos = true;
  std::vector<GenerateStats> runs;
  for (int i = 0; i < setup.repetitions; ++i) {
    session->Reset();
    const GenerateResult result = TRY(session->Generate(ids, setup.generate));
    if (result.finish_reason == FinishReason::kCancelled) return Cancelled("interrupted");
    runs.push_back(result.stats);
  }
  const Json summary = Summary(engine->info(), setup, runs);
  if (common.json) {
    PrintJson(summary);
    return true;
  }
  Show("{} on {}, {} threads, median of {}\n", engine->info().scheme, engine->info().variant,
       engine->info().threads, setup.repetitions);
  Show(
      "load {:.0f} ms   first token {:.0f} ms   prefill {} {:.1f} tok/s   decode {} {:.1f} tok/s   "
      "peak {:.0f} MiB\n",
      summary["load_ms"].get<double>(), summary["first_token_ms"].get<double>(),
      setup.prompt_tokens, summary["prefill_tok_s"].get<double>(), setup.decode_tokens,
      summary["decode_tok_s"].get<double>(), summary["peak_rss_bytes"].get<double>() / (1 << 20));
  return true;
}

}  // namespace

std::shared_ptr<Verb> AddBench(CLI::App& app) {
  auto verb = AddVerb(app, "bench", "load, first token, prefill and decode, apart");
  auto setup = std::make_shared<BenchSetup>();
  AddEngineOptions(*verb->app, *setup);
  verb->app->add_option("--prompt-tokens", setup->prompt_tokens, "")
      ->capture_default_str()
      ->check(AtLeast(1));
  verb->app->add_option("--decode-tokens", setup->decode_tokens, "")
      ->capture_default_str()
      ->check(AtLeast(1));
  verb->app->add_option("--repetitions", setup->repetitions, "")
      ->capture_default_str()
      ->check(AtLeast(1));
  verb->action = [setup, common = verb->common] { return Bench(*setup, *common); };
  return verb;
}

}  // namespace hexlane::cli
