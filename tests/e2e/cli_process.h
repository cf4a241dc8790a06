// Runs the hexlane command, or another program, as a user does: a child process with arguments, an
// exit code and output.
#ifndef HEXLANE_TESTS_E2E_CLI_PROCESS_H_
#define HEXLANE_TESTS_E2E_CLI_PROCESS_H_

#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace hexlane::e2e {

using Json = nlohmann::json;

struct CliOptions {
  std::string program = HEXLANE_BINARY;
  std::string input;                                             // standard input
  std::filesystem::path folder;                                  // working directory
  std::vector<std::pair<std::string, std::string>> environment;  // set in addition
  std::string output;  // where stdout goes instead: a path, or "closed pipe"
  int signal = 0;      // sent after `signal_after` seconds, or as soon as `signal_when` holds
  double signal_after = 0;
  std::function<bool()> signal_when;
  double timeout = 120;  // seconds; a process that takes longer is killed and the test fails
};

struct CliResult {
  int exit_code = -1;  // -1: ended by `signal`
  int signal = 0;
  std::string out;
  std::string err;
  double seconds = 0;
  Json json() const;  // of `out`; a failed test and null where it is not JSON
};

using Arguments = std::vector<std::string>;
CliResult RunCli(const Arguments& arguments, const CliOptions& options = {});

}  // namespace hexlane::e2e

#endif  // HEXLANE_TESTS_E2E_CLI_PROCESS_H_
