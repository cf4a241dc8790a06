// genie_run: greedy tokens of Qualcomm's own runtime for a folder that `hexlane export genie` made,
// as JSON on stdout. A program of its own, because the library may crash or never return, and
// prints what it likes.
#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>

#include "base/file.h"
#include "base/json.h"

namespace hexlane::genie {
namespace {

namespace fs = std::filesystem;

// libGenie.so as its public documentation describes it (docs.qualcomm.com/doc/80-63442-10, API).
using Handle = const void*;
using Status = int32_t;
using OnTokens = void (*)(const uint32_t* tokens, uint32_t count, int32_t sentence_code,
                          const void* user);
constexpr int32_t kComplete = 0;  // sentence code: the whole query
struct Api {
  Status (*config_from_json)(const char*, Handle*);
  Status (*create)(Handle config, Handle* dialog);
  Status (*set_max_tokens)(Handle dialog, uint32_t);
  Status (*token_query)(Handle dialog, const uint32_t*, uint32_t, int32_t, OnTokens, const void*);
  Status (*free)(Handle dialog);
  Status (*free_config)(Handle config);
};

struct Options {
  fs::path folder;
  fs::path library;  // libGenie.so, among the other libraries of the vendor
  std::vector<uint32_t> ids;
  uint32_t max_tokens = 16;
  uint32_t timeout = 0;  // seconds; 0: none
};

constexpr int kTimedOut = 4;  // exit code

// What the library is doing, for the message of a run that it never ends.
const char* volatile doing = "loading the library";

void OnAlarm(int) {
  for (const char* text :
       {"genie_run: Genie did not return: ", static_cast<const char*>(doing), "\n"})
    if (write(STDERR_FILENO, text, std::strlen(text)) < 0) break;
  _exit(kTimedOut);
}

struct Answer {
  std::vector<uint32_t> tokens;
  std::vector<double> seconds;  // since the query, of every token
  std::chrono::steady_clock::time_point start;
};

Result<void*> Open(const fs::path& path) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) return Environment("cannot load {}", path.string()).Got("{}", dlerror());
  return library;
}

Result<Api> Load(const fs::path& path) {
  // Genie asks for these by name alone: loaded already, they are found wherever they are.
  for (const char* name : {"libQnnSystem.so", "libQnnHtp.so", "libQnnHtpNetRunExtensions.so"})
    TRY(Open(path.parent_path() / name));
  void* library = TRY(Open(path));
  Api api{};
  bool complete = true;
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    complete &= function != nullptr;
  };
  find(api.config_from_json, "GenieDialogConfig_createFromJson");
  find(api.create, "GenieDialog_create");
  find(api.set_max_tokens, "GenieDialog_setMaxNumTokens");
  find(api.token_query, "GenieDialog_tokenQuery");
  find(api.free, "GenieDialog_free");
  find(api.free_config, "GenieDialogConfig_free");
  if (complete) return api;
  return Environment("{} is not a Genie with token queries", path.string());
}

template <typename... Parameters, typename... Arguments>
Result<void> Call(const char* what, Status (*function)(Parameters...), Arguments... arguments) {
  doing = what;
  const Status status = function(arguments...);
  if (status == 0) return {};
  return Vendor("Genie failed: {}", what).Got("status {}", status);
}

void Collect(const uint32_t* tokens, uint32_t count, int32_t, const void* user) {
  auto& answer = *static_cast<Answer*>(const_cast<void*>(user));
  const auto now = std::chrono::steady_clock::now();
  for (uint32_t i = 0; i < count; ++i) {
    answer.tokens.push_back(tokens[i]);
    answer.seconds.push_back(std::chrono::duration<double>(now - answer.start).count());
  }
}

Result<Answer> Run(const Options& options) {
  const Api api = TRY(Load(fs::absolute(options.library)));
  fs::current_path(options.folder);  // the configuration's paths are relative
  const std::string config_text = TRY(ReadTextFile("genie_config.json"));
  Handle config = nullptr, dialog = nullptr;
  TRY(Call("reading genie_config.json", api.config_from_json, config_text.c_str(), &config));
  TRY(Call("creating the dialog", api.create, config, &dialog));
  TRY(Call("limiting the tokens", api.set_max_tokens, dialog, options.max_tokens));
  Answer answer{.start = std::chrono::steady_clock::now()};
  TRY(Call("generating", api.token_query, dialog, options.ids.data(),
           static_cast<uint32_t>(options.ids.size()), kComplete, Collect, &answer));
  TRY(Call("freeing the dialog", api.free, dialog));
  TRY(Call("freeing the configuration", api.free_config, config));
  return answer;
}

int Main(int argc, char** argv) {
  CLI::App app{"Greedy tokens of a Genie folder, by the vendor's libGenie.so."};
  Options options;
  app.add_option("FOLDER", options.folder, "what hexlane export genie wrote")
      ->required()
      ->check(CLI::ExistingDirectory);
  app.add_option("--library", options.library, "libGenie.so")->required()->check(CLI::ExistingFile);
  app.add_option("--ids", options.ids, "tokens of the prompt")->required()->delimiter(',');
  app.add_option("-n", options.max_tokens, "tokens to generate")->capture_default_str();
  app.add_option("--timeout", options.timeout,
                 fmt::format("seconds after which it ends with {}; 0: none", kTimedOut));
  CLI11_PARSE(app, argc, argv);
  std::signal(SIGALRM, OnAlarm);
  alarm(options.timeout);
  const int output = dup(STDOUT_FILENO);
  dup2(STDERR_FILENO, STDOUT_FILENO);  // the library prints to stdout
  const Result<Answer> answer = Run(options);
  if (!answer) {
    fmt::print(stderr, "genie_run: {}\n", answer.error().ToString());
    return 1;
  }
  const std::string text =
      Json{{"tokens", answer->tokens}, {"seconds", answer->seconds}}.dump() + "\n";
  const bool written = write(output, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  _exit(written ? 0 : 1);  // past the library's destructors, which nothing is known of
}

}  // namespace
}  // namespace hexlane::genie

int main(int argc, char** argv) { return hexlane::genie::Main(argc, argv); }
