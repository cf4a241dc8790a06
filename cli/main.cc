// hexlane VERB …: see docs/cli.md. Exit codes: 0 good, 1 a check failed, 2 usage, 3 bad input, 4
// environment, 130 interrupted.
#include <algorithm>
#include <csignal>
#include <exception>
#include <new>

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

// What a verb returns; exceptions of the standard library (out of memory, a path that cannot be
// read) become errors too.
Result<bool> Act(const Verb& verb) {
  try {
    return verb.action();
  } catch (const std::bad_alloc&) {
    return Environment("out of memory").Remedy("Close other programs or use a larger machine");
  } catch (const std::exception& error) {
    return Environment("{}", error.what());
  }
}

int RunVerb(const Verb& verb) {
  LimitThreads(*verb.common);
  Result<bool> done = Act(verb);
  EndProgress();
  const Result<void> written = FinishOutput();
  if (done && !written) done = tl::unexpected(written.error());
  if (done) return *done ? 0 : 1;
  PrintError(done.error(), verb.common->json);
  return ExitCode(done.error().code);
}

// A request that cannot be parsed; without any, the help is the answer.
int Refuse(const CLI::App& app, const CLI::ParseError& error, int argc, char** argv) {
  if (error.get_exit_code() == 0) return app.exit(error);
  if (argc < 2) {
    Write(app.help());
    return ExitCode(Code::kUsage);
  }
  const std::string_view first = argv[1];
  std::string what = error.what();
  if (app.get_subcommands().empty() && !first.starts_with("-"))
    what = fmt::format("unknown verb '{}'", first);
  const auto is_json = [](std::string_view argument) { return argument == "--json"; };
  PrintError({.code = Code::kUsage,
              .what = what,
              .remedy = "hexlane --help and hexlane VERB --help list the options"},
             std::any_of(argv + 1, argv + argc, is_json));
  return ExitCode(Code::kUsage);
}

int Main(int argc, char** argv) {
  CLI::App app{
      "Puts a language model on the Hexagon NPU of a Snapdragon phone, verified at every step."};
  app.set_version_flag("--version", HEXLANE_VERSION);
  app.require_subcommand(1);
  std::vector<std::shared_ptr<Verb>> verbs = {
      AddConvert(app), AddFinetune(app), AddRun(app),   AddChat(app),
      AddVerify(app),  AddEval(app),     AddDump(app),  AddTokenize(app),
      AddInspect(app), AddDoctor(app),   AddBench(app), AddSensitivity(app)};
  for (const std::shared_ptr<Verb>& verb : AddExports(app)) verbs.push_back(verb);
  for (const std::shared_ptr<Verb>& verb : AddPackageVerbs(app)) verbs.push_back(verb);
  app.footer(
      "Exit codes: 0 good, 1 a check failed, 2 usage, 3 bad input, 4 environment, 130 "
      "interrupted.");
  std::signal(SIGPIPE, SIG_IGN);  // a closed pipe is an error of Write, so that work is cleaned up
  std::signal(SIGXFSZ, SIG_IGN);  // a file past the limit likewise
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return Refuse(app, error, argc, argv);
  }
  CatchInterrupts();
  for (const auto& verb : verbs)
    if (verb->app->parsed()) return RunVerb(*verb);
  return ExitCode(Code::kUsage);
}

}  // namespace
}  // namespace hexlane::cli

int main(int argc, char** argv) { return hexlane::cli::Main(argc, argv); }
