#include "verb.h"

#include <unistd.h>

#include <cstdio>

namespace hexlane::cli {
namespace {
bool bar_is_open = false;
}

std::shared_ptr<Verb> AddVerb(CLI::App& app, const std::string& name, const std::string& summary) {
  auto verb = std::make_shared<Verb>();
  verb->app = app.add_subcommand(name, summary);
  auto common = std::make_shared<Common>();
  verb->common = common.get();
  verb->app->add_flag("--json", common->json,
                      "print the result as JSON (docs/cli.md has the schema)");
  verb->app->add_option("--qnn", common->qnn,
                        "libQnnHtp.so or its folder (else HEXLANE_QNN, QNN_SDK_ROOT, .venv)");
  verb->app->add_option("--threads", common->threads, "CPU threads; 0: all of this process")
      ->check(CLI::Range(0, 1024));
  verb->app->parse_complete_callback(
      [common] {});  // keeps `common` alive as long as the application
  return verb;
}

ProgressCallback ProgressBar(const Common& common) {
  if (common.json || !isatty(STDERR_FILENO)) return {};
  return [](double fraction, std::string_view what) {
    constexpr int kWidth = 30;
    const int filled = static_cast<int>(fraction * kWidth);
    Note("\r\033[K[{}{}] {:3.0f} %  {}", std::string(static_cast<size_t>(filled), '#'),
         std::string(static_cast<size_t>(kWidth - filled), '.'), fraction * 100, what);
    bar_is_open = true;
  };
}

void EndProgress() {
  if (bar_is_open) Note("\r\033[K");
  bar_is_open = false;
}

}  // namespace hexlane::cli
