#include "verb.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
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
      ->check(Between(0, 1024));
  verb->app->parse_complete_callback(
      [common] {});  // keeps `common` alive as long as the application
  return verb;
}

CLI::Validator Between(double least, double most) {
  const std::string want =
      std::isinf(most) ? fmt::format("at least {}", least) : fmt::format("{} to {}", least, most);
  const auto check = [least, most, want](const std::string& text) -> std::string {
    double value = std::nan("");
    if (CLI::detail::lexical_cast(text, value) && value >= least && value <= most) return {};
    return fmt::format("{} is not {}", text, want);
  };
  return CLI::Validator(check, want);
}

CLI::Validator AtLeast(double least) { return Between(least, HUGE_VAL); }

CLI::Validator NotEmpty() {
  const auto check = [](const std::string& text) -> std::string {
    return text.empty() ? "must not be empty" : "";
  };
  return {check, ""};
}

void AddMemory(CLI::App& app, size_t& memory) {
  app.add_option("--memory", memory,
                 "memory to convert in, e.g. 4GiB; shards are planned for it (default: 1 GiB, "
                 "or what two layers need)")
      ->transform(CLI::AsSizeValue(false));
}

Result<std::vector<int32_t>> ParseIds(std::string_view option, std::string_view text) {
  std::vector<int32_t> ids;
  const auto bad = [&] {
    return Usage("{} takes token ids", option).Want("e.g. 1,2,3").Got("'{}'", text.substr(0, 80));
  };
  for (const char *at = text.data(), *end = at + text.size();; ++at) {
    int32_t id = -1;
    const auto [next, error] = std::from_chars(at, end, id);
    if (error != std::errc() || id < 0) return bad();
    ids.push_back(id);
    if (next == end) return ids;
    if (*next != ',') return bad();
    at = next;
  }
}

void LimitThreads(Common& common) {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return;
  const int processors = std::max(1, CPU_COUNT(&set));
  if (common.threads <= processors) return;
  Note("[{} threads: this process has {} processors]\n", processors, processors);
  common.threads = processors;
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
