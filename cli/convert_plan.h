// `hexlane convert --plan`: a conversion's jobs as a file, with the commands that do them.
#ifndef HEXLANE_CLI_CONVERT_PLAN_H_
#define HEXLANE_CLI_CONVERT_PLAN_H_

#include <string>

#include "hexlane/compiler.h"

namespace hexlane::cli {

// Writes `file`, and with `json` its contents to stdout. docs/cli.md describes the fields.
Result<void> WritePlan(const ConvertOptions& options, const std::string& file, bool json);

}  // namespace hexlane::cli

#endif  // HEXLANE_CLI_CONVERT_PLAN_H_
