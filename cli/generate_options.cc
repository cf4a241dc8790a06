#include "generate_options.h"

namespace hexlane::cli {

void AddEngineOptions(CLI::App& app, GenerateSetup& setup) {
  app.add_option("PACKAGE", setup.package, "package folder")->required();
  app.add_option("--backend", setup.engine.backend, "auto, cpu, htp or a variant's name")
      ->capture_default_str();
  app.add_option("--soc", setup.engine.soc, "only this SoC's variants");
  app.add_option("--context", setup.engine.context,
                 "positions to hold; 0: as many as the package has")
      ->capture_default_str()
      ->check(AtLeast(0));
  app.add_option("--memory", setup.engine.memory_limit,
                 "refuse variants that need more, e.g. 2GiB (default: what is available)")
      ->transform(CLI::AsSizeValue(false));
  app.add_flag("!--trust", setup.engine.check_files,
               "do not compare the files' checksums before loading");
}

void AddGenerateOptions(CLI::App& app, GenerateSetup& setup) {
  AddEngineOptions(app, setup);
  app.add_option("-n,--max-tokens", setup.generate.max_tokens, "0: until the context is full")
      ->capture_default_str()
      ->check(AtLeast(0));
  app.add_option("--temperature", setup.generate.temperature, "0: greedy")->capture_default_str();
  app.add_option("--top-k", setup.generate.top_k, "0: off")->capture_default_str();
  app.add_option("--top-p", setup.generate.top_p, "1: off")->capture_default_str();
  app.add_option("--min-p", setup.generate.min_p, "0: off")->capture_default_str();
  app.add_option("--repetition-penalty", setup.generate.repetition_penalty, "1: off")
      ->capture_default_str();
  app.add_option("--seed", setup.generate.seed, "of sampling")->capture_default_str();
  app.add_option("--stop", setup.generate.stop, "end before this text (may be given several times)")
      ->allow_extra_args(false);
  app.add_flag("--ignore-eos", setup.generate.ignore_eos, "do not end at an end-of-sequence token");
  app.add_option("--system", setup.system, "system message of a chat");
}

Result<std::shared_ptr<Engine>> OpenEngine(GenerateSetup& setup, const Common& common) {
  setup.engine.threads = common.threads;
  setup.engine.vendor_library = common.qnn;
  return Engine::Open(setup.package, setup.engine);
}

void NoteFallback(const EngineInfo& info) {
  if (info.fallback_reason.empty()) return;
  std::string emulator;
  for (const std::string& variant : info.variants)
    if (variant.ends_with("-emulator")) emulator = variant;
  if (!emulator.empty()) emulator = "; for the NPU's emulator: --backend " + emulator;
  Note("[on the CPU: {}]\n", Escaped(info.fallback_reason + emulator));
}

Json ToJson(const EngineInfo& info, const GenerateResult& result) {
  return {{"text", result.text},
          {"tokens", result.tokens},
          {"finish_reason", FinishReasonName(result.finish_reason)},
          {"variant", info.variant},
          {"fallback_reason", info.fallback_reason},
          {"stats", ToJson(result.stats)}};
}

Json ToJson(const GenerateStats& stats) {
  return {{"prompt_tokens", stats.prompt_tokens},
          {"generated_tokens", stats.generated_tokens},
          {"load_ms", stats.load_ms},
          {"first_token_ms", stats.first_token_ms},
          {"prefill_s", stats.prefill_s},
          {"decode_s", stats.decode_s},
          {"prefill_tok_s", stats.prefill_tok_s},
          {"decode_tok_s", stats.decode_tok_s},
          {"peak_rss_bytes", stats.peak_rss_bytes},
          {"stages",
           {{"tokenize", stats.seconds.tokenize},
            {"copy", stats.seconds.copy},
            {"execute", stats.seconds.execute},
            {"sample", stats.seconds.sample},
            {"detokenize", stats.seconds.detokenize}}},
          {"warning", stats.warning}};
}

void PrintStats(const EngineInfo& info, const GenerateStats& stats) {
  Note(
      "[{}: load {:.0f} ms, {} prompt tokens at {:.1f}/s, first token {:.0f} ms, {} tokens "
      "at {:.1f}/s, "
      "peak memory {:.0f} MiB]\n",
      info.variant, stats.load_ms, stats.prompt_tokens, stats.prefill_tok_s, stats.first_token_ms,
      stats.generated_tokens, stats.decode_tok_s,
      static_cast<double>(stats.peak_rss_bytes) / (1 << 20));
  if (!stats.warning.empty()) Note("warning: {}\n", stats.warning);
}

}  // namespace hexlane::cli
