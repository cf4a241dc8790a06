#include "convert_plan.h"

#include <fmt/ranges.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "output.h"

namespace hexlane::cli {
namespace fs = std::filesystem;
namespace {

template <typename T>
void AddNumber(std::vector<std::string>& command, const char* option, T value, T without) {
  if (value == without) return;
  command.push_back(option);
  command.push_back(fmt::format("{}", value));
}

void AddText(std::vector<std::string>& command, const char* option, const std::string& text) {
  if (text.empty()) return;
  command.push_back(option);
  command.push_back(text);
}

std::string Absolute(const fs::path& path) {
  return path.empty() ? "" : fs::absolute(path).lexically_normal().string();
}

// The command that does all of the conversion, in any working directory.
std::vector<std::string> CommandOf(const ConvertOptions& options) {
  const ConvertOptions defaults;
  std::vector<std::string> command = {fs::read_symlink("/proc/self/exe").string(), "convert",
                                      Absolute(options.model)};
  AddText(command, "-o", Absolute(options.output));
  AddText(command, "--quant", options.scheme);
  AddText(command, "--soc", fmt::format("{}", fmt::join(options.socs, ",")));
  AddText(command, "--context", fmt::format("{}", fmt::join(options.contexts, ",")));
  AddNumber(command, "--prefill-rows", options.prefill_rows, defaults.prefill_rows);
  AddNumber(command, "--kv", options.kv_bits, defaults.kv_bits);
  if (options.algorithm != defaults.algorithm) AddText(command, "--algorithm", options.algorithm);
  if (options.observer != defaults.observer) AddText(command, "--observer", options.observer);
  AddText(command, "--overrides", Absolute(options.overrides));
  AddText(command, "--calibration", Absolute(options.calibration));
  AddNumber(command, "--calibration-tokens", options.calibration_tokens,
            defaults.calibration_tokens);
  AddNumber(command, "--memory", options.memory, defaults.memory);
  if (options.emulator) command.push_back("--emulator");
  if (options.force) command.push_back("--force");
  AddNumber(command, "--threads", options.threads, defaults.threads);
  AddText(command, "--qnn", Absolute(options.vendor_library));
  return command;
}

Json ToJson(const std::vector<fs::path>& paths) {
  Json json = Json::array();
  for (const fs::path& path : paths) json.push_back(path.string());
  return json;
}

Json ToJson(const ConvertJob& job, std::vector<std::string> command) {
  AddText(command, "--only", job.only);
  return {{"id", job.id},
          {"command", command},
          {"inputs", ToJson(job.inputs)},
          {"outputs", ToJson(job.outputs)},
          {"memory_bytes", job.memory_bytes},
          {"seconds", job.seconds},
          {"dependencies", job.dependencies}};
}

// An earlier plan is replaced, somebody's file is not.
Result<void> CheckReplaceable(const std::string& file) {
  std::error_code error;
  if (!fs::exists(file, error) || !fs::is_regular_file(file, error)) return {};
  std::ifstream stream(file);
  const Json earlier = Json::parse(stream, nullptr, false);
  if (earlier.is_object() && earlier.contains("jobs") && earlier.contains("package")) return {};
  return InvalidInput("'{}' is there and is no plan", file)
      .Remedy("Name another file after --plan, or remove it");
}

Result<void> WriteText(const std::string& file, const std::string& text) {
  std::ofstream stream(file);
  stream << text;
  stream.close();
  if (stream) return {};
  return Io("cannot write '{}': {}", file, std::strerror(errno))
      .Remedy("Name a file that can be written after --plan");
}

}  // namespace

Result<void> WritePlan(const ConvertOptions& options, const std::string& file, bool json) {
  TRY(CheckReplaceable(file));
  const std::vector<ConvertJob> jobs = TRY(PlanConversion(options));
  Json plan = {{"format", 1}, {"package", Absolute(options.output)}, {"jobs", Json::array()}};
  for (const ConvertJob& job : jobs) plan["jobs"].push_back(ToJson(job, CommandOf(options)));
  TRY(WriteText(file, plan.dump(1, ' ', false, Json::error_handler_t::replace) + "\n"));
  if (json)
    PrintJson(plan);
  else
    Show("{}: {} jobs\n", file, jobs.size());
  return {};
}

}  // namespace hexlane::cli
