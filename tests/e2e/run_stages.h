// Runs the QNN graphs of a package by Hexlane's own means and keeps what went in and came out, for
// others to be compared with.
#ifndef HEXLANE_TESTS_E2E_RUN_STAGES_H_
#define HEXLANE_TESTS_E2E_RUN_STAGES_H_

#include <filesystem>
#include <string>

#include "hexlane/status.h"

namespace hexlane::e2e {

struct RunStagesOptions {
  std::filesystem::path package;
  std::string variant;            // one that this machine can run: SM8650-emulator
  int max_rows = 1 << 30;         // leaves out stages of more rows
  std::filesystem::path library;  // libQnnHtp.so
};

// Each stage runs once, on random hidden states and a half full cache of random keys and values.
// Writes <output>/<contract's stem>.<graph>/in/<tensor> and …/out/<tensor>: raw elements.
Result<void> RunStages(const RunStagesOptions& options, const std::filesystem::path& output);

}  // namespace hexlane::e2e

#endif  // HEXLANE_TESTS_E2E_RUN_STAGES_H_
