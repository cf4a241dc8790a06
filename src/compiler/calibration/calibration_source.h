// What --calibration names: which kind of source it is, and which files are read.
#ifndef HEXLANE_COMPILER_CALIBRATION_CALIBRATION_SOURCE_H_
#define HEXLANE_COMPILER_CALIBRATION_CALIBRATION_SOURCE_H_

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "hexlane/status.h"

namespace hexlane {

enum class SourceKind : uint8_t {
  kBuiltIn,    // an empty path: DefaultCalibrationText
  kText,       // any file that is none of the others
  kFolder,     // of text files, at any depth
  kJsonLines,  // .jsonl, .ndjson, .json, or a first line that is a JSON array or object
  kNpy,        // .npy, or NumPy's magic bytes
  kInputList,  // named input_list*, or a first item that holds ":=" or ends with .raw or .npy
};

// kNotFound where there is nothing, kInvalidInput where the file is neither text nor an array.
Result<SourceKind> FindSourceKind(const std::filesystem::path& path);
// Whether every sample is text; chats in JSON lines are found only on the way.
bool IsText(SourceKind kind);

// All files of the source in the order in which they are read: of a folder by name, those that
// begin with '.' left out; of a list, the list itself and then its tensors.
Result<std::vector<std::filesystem::path>> CalibrationFiles(const std::filesystem::path& path);
// SHA-256 of all that is read; of a single file, the file's.
Result<std::string> CalibrationDigest(const std::filesystem::path& path);

// One line of a list as Qualcomm's tools take it (`--input_list`): the only input of a decoder.
struct ListedSample {
  std::filesystem::path file;
  std::string where;  // the list and its line
};
// Lines that begin with '#' or '%' name outputs there and are skipped. Paths are relative to the
// list or, where nothing is there, to the working directory. kInvalidInput where a line has other
// or more inputs than input_ids; kNotFound.
Result<std::vector<ListedSample>> ReadInputList(const std::filesystem::path& list);

}  // namespace hexlane

#endif  // HEXLANE_COMPILER_CALIBRATION_CALIBRATION_SOURCE_H_
