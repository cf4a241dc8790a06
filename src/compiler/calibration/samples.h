// Calibration data as windows of token ids.
#ifndef HEXLANE_COMPILER_CALIBRATION_SAMPLES_H_
#define HEXLANE_COMPILER_CALIBRATION_SAMPLES_H_

#include <cstdint>
#include <filesystem>
#include <string_view>
#include <vector>

#include "hexlane/status.h"

namespace hexlane {

class Tokenizer;

struct SampleArgs {
  std::filesystem::path path;            // any SourceKind; empty: the built-in text
  const Tokenizer* tokenizer = nullptr;  // null where the model has none: ids only
  std::string_view tokenizer_config;     // JSON, of the chat template; empty: none
  int64_t vocab = 0;                     // of the model: ids are below it
  size_t tokens = 0;                     // windows are taken until they hold as many
  size_t window = 256;                   // tokens at most
};

struct Samples {
  std::vector<std::vector<int32_t>> windows;
  // Texts, chats, rows, lines: what the source has, and how many the windows are from.
  size_t found = 0;
  size_t used = 0;
};

// A text is a stream cut into whole windows, as CalibrationWindows does. A chat (rendered by the
// model's template), a row of ids or a line of a list is a sample that starts a window of its own;
// what does not fit goes into further ones.
// Errors name the file and the line or row: kInvalidInput for what is not a sample or has an id
// that the model does not know, kNotFound where a chat needs a template that the model does not
// have.
Result<Samples> ReadSamples(const SampleArgs& args);

}  // namespace hexlane

#endif  // HEXLANE_COMPILER_CALIBRATION_SAMPLES_H_
