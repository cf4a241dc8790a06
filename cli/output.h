// What the verbs print: results on stdout, everything else on stderr.
#ifndef HEXLANE_CLI_OUTPUT_H_
#define HEXLANE_CLI_OUTPUT_H_

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hexlane/status.h"

namespace hexlane::cli {

using Json = nlohmann::ordered_json;

// Writes to stdout at once. False when stdout is closed or full; FinishOutput says so at the end.
bool Write(std::string_view text);
template <typename... Args>
bool Show(fmt::format_string<Args...> format, Args&&... args) {
  return Write(fmt::format(format, std::forward<Args>(args)...));
}

// Writes to stderr; nobody can be told when that fails.
void WriteNote(std::string_view text);
template <typename... Args>
void Note(fmt::format_string<Args...> format, Args&&... args) {
  WriteNote(fmt::format(format, std::forward<Args>(args)...));
}

// JSON on one line; bytes that are not UTF-8 are replaced.
std::string Dump(const Json& json);
void PrintJson(const Json& json);  // Dump and a newline, to stdout

// Text from a file, for a terminal: control characters but newline and tab as \x1b or \u009b.
std::string Escaped(std::string_view text);
void PrintWarnings(const std::vector<std::string>& warnings);  // a line each, to stdout
// On stderr, and with `json` also {"error"} on stdout.
void PrintError(const Error& error, bool json);

// kIo when something written did not arrive.
Result<void> FinishOutput();

}  // namespace hexlane::cli

#endif  // HEXLANE_CLI_OUTPUT_H_
