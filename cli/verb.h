// The verbs of the command line. Each file adds one to the application; what it returns becomes the
// exit code.
#ifndef HEXLANE_CLI_VERB_H_
#define HEXLANE_CLI_VERB_H_

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "hexlane/compiler.h"
#include "hexlane/engine.h"
#include "hexlane/interrupt.h"
#include "hexlane/memory_need.h"
#include "output.h"

namespace hexlane::cli {

// What a verb does once its options are parsed. true: good; false: a check failed (exit code 1).
using Action = std::function<Result<bool>()>;

// Options that every verb has.
struct Common {
  bool json = false;  // machine-readable result on stdout, nothing else
  std::string qnn;    // libQnnHtp.so, or its folder
  int threads = 0;
};

// A verb's place in the application: `app` gets its options, `action` what it does.
struct Verb {
  CLI::App* app = nullptr;
  Common* common = nullptr;
  Action action;
};

// Adds the verb `name` with the common options.
std::shared_ptr<Verb> AddVerb(CLI::App& app, const std::string& name, const std::string& summary);

// Every AddX makes one verb; main lists them.
std::shared_ptr<Verb> AddConvert(CLI::App& app);
std::shared_ptr<Verb> AddFinetune(CLI::App& app);
// One verb for each runtime that packages can be exported to: `export genie`, …
std::vector<std::shared_ptr<Verb>> AddExports(CLI::App& app);
std::vector<std::shared_ptr<Verb>> AddPackageVerbs(CLI::App& app);  // `package split`, …
std::shared_ptr<Verb> AddRun(CLI::App& app);
std::shared_ptr<Verb> AddChat(CLI::App& app);
std::shared_ptr<Verb> AddVerify(CLI::App& app);
std::shared_ptr<Verb> AddEval(CLI::App& app);
std::shared_ptr<Verb> AddDump(CLI::App& app);
std::shared_ptr<Verb> AddTokenize(CLI::App& app);
std::shared_ptr<Verb> AddInspect(CLI::App& app);
std::shared_ptr<Verb> AddDoctor(CLI::App& app);
std::shared_ptr<Verb> AddBench(CLI::App& app);
std::shared_ptr<Verb> AddSensitivity(CLI::App& app);

// Checks of an option's number; NaN fails. The message names the limits.
CLI::Validator AtLeast(double least);
CLI::Validator Between(double least, double most);
// Of a name or a path.
CLI::Validator NotEmpty();

// --memory of what compiles; a parsed value is in bytes.
void AddMemory(CLI::App& app, size_t& memory);

// "1,2,3"; kUsage names the option.
Result<std::vector<int32_t>> ParseIds(std::string_view option, std::string_view text);

// No more threads than processors: says so when that changes `common.threads`.
void LimitThreads(Common& common);

// A progress bar on stderr; empty when stderr is no terminal or --json is given.
ProgressCallback ProgressBar(const Common& common);
// Ends the bar's line.
void EndProgress();

}  // namespace hexlane::cli

#endif  // HEXLANE_CLI_VERB_H_
