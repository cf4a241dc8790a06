#include <chrono>

#include "generate_options.h"

namespace hexlane::cli {
namespace {

struct RunSetup : GenerateSetup {
  std::string prompt;
  bool chat = false;
  bool stats = false;
};

Result<std::vector<int32_t>> PromptIds(const Engine& engine, const RunSetup& setup) {
  if (!setup.chat && setup.system.empty()) return engine.Encode(setup.prompt);
  Json messages = Json::array();
  if (!setup.system.empty()) messages.push_back({{"role", "system"}, {"content", setup.system}});
  messages.push_back({{"role", "user"}, {"content", setup.prompt}});
  const std::string text = TRY(engine.RenderChat(Dump(messages)));
  return engine.Encode(text, {.add_special_tokens = false});
}

Result<bool> Run(RunSetup& setup, const Common& common) {
  const auto engine = TRY(OpenEngine(setup, common));
  if (!common.json) NoteFallback(engine->info());
  const auto start = std::chrono::steady_clock::now();
  const std::vector<int32_t> ids = TRY(PromptIds(*engine, setup));
  const std::chrono::duration<double> tokenize = std::chrono::steady_clock::now() - start;
  const auto session = TRY(engine->NewSession());
  if (!common.json) {
    setup.generate.on_token = [](const TokenEvent& token) { return Write(token.text); };
  }
  GenerateResult result = TRY(session->Generate(ids, setup.generate));
  result.stats.seconds.tokenize += tokenize.count();
  if (common.json) {
    PrintJson(ToJson(engine->info(), result));
  } else {
    Show("\n");
    if (setup.stats) PrintStats(engine->info(), result.stats);
  }
  if (result.finish_reason != FinishReason::kCancelled) return true;
  TRY(FinishOutput());  // that was why
  return Cancelled("interrupted");
}

}  // namespace

std::shared_ptr<Verb> AddRun(CLI::App& app) {
  auto verb = AddVerb(app, "run", "generate text from a prompt");
  auto setup = std::make_shared<RunSetup>();
  AddGenerateOptions(*verb->app, *setup);
  verb->app->add_option("-p,--prompt", setup->prompt, "text")->required();
  verb->app->add_flag("--chat", setup->chat,
                      "the prompt is a user's message: render the chat template");
  verb->app->add_flag("--stats", setup->stats, "print times and memory to stderr");
  verb->action = [setup, common = verb->common] { return Run(*setup, *common); };
  return verb;
}

}  // namespace hexlane::cli
