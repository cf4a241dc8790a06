// hexlane VERB …: see docs/cli.md. Exit codes: 0 good, 1 a check failed, 2 usage, 3 bad input, 4
// environment, 130 interrupted.
#include <fmt/format.h>

#include <csignal>

#include "verb.h"

namespace hexlane::cli {
namespace {

int ExitCode(Code code) {
  switch (code) {
    case Code::kCheckFailed: return 1;
    case Code::kUsage: return 2;
    case Code::kInvalidInput:
    case Code::kCorrupt:
    case Code::kUnsupported:
    case Code::kNotFound: return 3;
    case Code::kIo:
    case Code::kEnvironment:
    case Code::kVendor: return 4;
    case Code::kCancelled: return 130;
  }
  return 4;
}

void PrintError(const Error& error, bool json) {
  if (json) {
    PrintJson({{"error",
                {{"code", CodeName(error.code)},
                 {"what", error.what},
                 {"where", error.where},
                 {"want", error.want},
                 {"got", error.got},
                 {"remedy", error.remedy}}}});
  }
  fmt::print(stderr, "hexlane: {}\n", error.ToString());
}

int RunVerb(const Verb& verb) {
  const Result<bool> done = verb.action();
  EndProgress();
  if (done) return *done ? 0 : 1;
  PrintError(done.error(), verb.common->json);
  return ExitCode(done.error().code);
}

int Main(int argc, char** argv) {
  CLI::App app{
      "Puts a language model on the Hexagon NPU of a Snapdragon phone, verified at every step."};
  app.set_version_flag("--version", HEXLANE_VERSION);
  app.require_subcommand(1);
  const std::shared_ptr<Verb> verbs[] = {
      AddConvert(app), AddRun(app),      AddChat(app),    AddVerify(app), AddEval(app),
      AddDump(app),    AddTokenize(app), AddInspect(app), AddDoctor(app), AddBench(app)};
  app.footer(
      "Exit codes: 0 good, 1 a check failed, 2 usage, 3 bad input, 4 environment, 130 "
      "interrupted.");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  CatchInterrupts();
  for (const auto& verb : verbs)
    if (verb->app->parsed()) return RunVerb(*verb);
  return 2;
}

}  // namespace
}  // namespace hexlane::cli

int main(int argc, char** argv) { return hexlane::cli::Main(argc, argv); }
