#include <unistd.h>

#include <iostream>

#include "generate_options.h"

namespace hexlane::cli {
namespace {

class Chat {
 public:
  Chat(GenerateSetup& setup, const Common& common) : setup_(setup), common_(common) {}

  Result<bool> Run() {
    engine_ = TRY(OpenEngine(setup_, common_));
    session_ = TRY(engine_->NewSession());
    if (!setup_.system.empty())
      messages_.push_back({{"role", "system"}, {"content", setup_.system}});
    const bool terminal = isatty(STDIN_FILENO) != 0;
    if (terminal)
      Note("[{} on {}; an empty line or Ctrl-D ends]\n", engine_->info().scheme,
           engine_->info().variant);
    if (!common_.json) NoteFallback(engine_->info());
    bool good = true;
    for (std::string line; NextLine(line, terminal);) {
      const Result<void> turn = Turn(line);
      if (turn) continue;
      if (turn.error().code != Code::kInvalidInput) return Failure(turn.error());
      messages_.erase(messages_.size() -
                      1);  // too long, or refused by the template: as if not said
      PrintError(turn.error(), common_.json);
      good = false;
    }
    TRY(CheckInterrupt());
    return good;
  }

 private:
  // False at the end. Empty lines end a conversation on a terminal and mean nothing elsewhere.
  static bool NextLine(std::string& line, bool terminal) {
    do {
      if (terminal) Note("> ");
      if (!std::getline(std::cin, line)) return false;
    } while (line.empty() && !terminal);
    return !line.empty();
  }

  Result<void> Turn(const std::string& text) {
    messages_.push_back({{"role", "user"}, {"content", text}});
    const std::string prompt = TRY(engine_->RenderChat(Dump(messages_)));
    const std::vector<int32_t> ids = TRY(engine_->Encode(prompt, {.add_special_tokens = false}));
    // Only what is new since the last turn runs.
    const int64_t kept = session_->KeepCommonPrefix(ids);
    if (!common_.json) {
      setup_.generate.on_token = [](const TokenEvent& token) { return Write(token.text); };
    }
    const GenerateResult result =
        TRY(session_->Generate(std::span(ids).subspan(static_cast<size_t>(kept)), setup_.generate));
    messages_.push_back({{"role", "assistant"}, {"content", result.text}});
    if (common_.json) {
      PrintJson(ToJson(engine_->info(), result));
    } else {
      Show("\n");
      PrintStats(engine_->info(), result.stats);
    }
    if (result.finish_reason != FinishReason::kCancelled) return {};
    TRY(FinishOutput());
    return Cancelled("interrupted");
  }

  GenerateSetup& setup_;
  const Common& common_;
  std::shared_ptr<Engine> engine_;
  std::unique_ptr<Session> session_;
  Json messages_ = Json::array();
};

}  // namespace

std::shared_ptr<Verb> AddChat(CLI::App& app) {
  auto verb = AddVerb(app, "chat", "talk, one line a turn; with --json one result a line");
  auto setup = std::make_shared<GenerateSetup>();
  AddGenerateOptions(*verb->app, *setup);
  verb->action = [setup, common = verb->common] { return Chat(*setup, *common).Run(); };
  return verb;
}

}  // namespace hexlane::cli
