// synthetic_checkpoint: a Hugging Face folder of any LLaMA shape with seeded weights, for repeating
// measurements on a model of that size without downloading one.
#include <CLI/CLI.hpp>
#include <chrono>

#include "base/memory.h"
#include "folder.h"
#include "hexlane/interrupt.h"

namespace hexlane::synthetic {
namespace {

void AddOptions(CLI::App& app, FolderOptions& options, int& threads) {
  ModelShape& shape = options.shape;
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  app.add_option("OUTPUT", options.output, "folder to write")->required();
  const auto size = [&](const char* name, int64_t& value, const char* help) {
    app.add_option(name, value, help)->capture_default_str()->check(CLI::PositiveNumber);
  };
  size("--layers", shape.layers, "");
  size("--hidden", shape.hidden, "columns of the residual stream");
  size("--ffn", shape.ffn, "columns inside the feed-forward block");
  size("--heads", shape.heads, "of queries");
  size("--kv-heads", shape.kv_heads, "of keys and values (default: as many as --heads)");
  size("--vocab", shape.vocab, "tokens");
  size("--max-context", shape.max_context, "positions, as config.json says");
  app.add_flag("--tied", shape.tied, "the head is the embedding table");
  app.add_option("--seed", options.seed, "of the weights")->capture_default_str();
  app.add_option("--shard-size", options.shard_bytes, "largest file of weights, e.g. 500MB")
      ->capture_default_str()
      ->transform(CLI::AsSizeValue(/*kb_is_1000=*/true));
  app.add_option("--tokenizer", options.tokenizer, "tokenizer.json to copy (default: made up)")
      ->check(CLI::ExistingFile);
  app.add_option("--threads", threads, "(default: all processors)")->check(CLI::Range(1, 1024));
}

int Run(const FolderOptions& options, int threads) {
  const auto start = std::chrono::steady_clock::now();
  ThreadPool pool(threads > 0 ? threads : DefaultThreads());
  const Result<FolderReport> report = WriteFolder(options, pool);
  if (!report) {
    fmt::print(stderr, "synthetic_checkpoint: {}\n", report.error().ToString());
    return report.error().code == Code::kCancelled ? 130 : 1;
  }
  const auto seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  fmt::print("{}: {:.1f} M parameters, {:.2f} GB in {} files, {:.1f} s, peak memory {:.0f} MiB\n",
             options.output.string(), static_cast<double>(report->parameters) / 1e6,
             static_cast<double>(report->bytes) / 1e9, report->shards, seconds,
             static_cast<double>(PeakRssBytes()) / (1 << 20));
  return 0;
}

}  // namespace
}  // namespace hexlane::synthetic

int main(int argc, char** argv) {
  using namespace hexlane::synthetic;
  CLI::App app{"Writes a LLaMA checkpoint with seeded, realistically distributed weights."};
  FolderOptions options;
  int threads = 0;
  AddOptions(app, options, threads);
  CLI11_PARSE(app, argc, argv);
  if (app.count("--kv-heads") == 0) options.shape.kv_heads = options.shape.heads;
  hexlane::CatchInterrupts();
  return Run(options, threads);
}
