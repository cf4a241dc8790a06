// manifest.json: the Manifest and the table of every other file, as text and back.
#ifndef HEXLANE_PACKAGE_MANIFEST_H_
#define HEXLANE_PACKAGE_MANIFEST_H_

#include <map>
#include <string>
#include <string_view>

#include "package/package.h"

namespace hexlane {

struct FileRecord {
  size_t bytes = 0;
  std::string sha256;  // 64 lower-case hexadecimal digits
};
using FileTable = std::map<std::string, FileRecord, std::less<>>;

struct ManifestFile {
  Manifest manifest;
  FileTable files;
};

std::string ManifestText(const ManifestFile& file);

// Checks everything that can be checked without the other files: the format version
// (kUnsupported when newer), the plan, the names, and that the plan's files are in the table.
Result<ManifestFile> ParseManifest(std::string_view text, std::string_view where);

// weights.json, checked against a weights.bin of `weights_bytes`: every weight inside, 64-byte
// aligned, none overlapping, sizes that fit shape and type.
std::string WeightIndexText(const std::vector<WeightEntry>& entries);
Json WeightIndexJson(const std::vector<WeightEntry>& entries);
Result<std::vector<WeightEntry>> ReadWeightIndex(const Json& json, size_t weights_bytes,
                                                 std::string_view where);
Result<std::vector<WeightEntry>> ParseWeightIndex(std::string_view text, size_t weights_bytes,
                                                  std::string_view where);

// Names of the files that the format itself gives a meaning.
inline constexpr std::string_view kManifestFile = "manifest.json";
inline constexpr std::string_view kWeightsFile = "weights.bin";
inline constexpr std::string_view kWeightIndexFile = "weights.json";
inline constexpr size_t kWeightAlignment = 64;

}  // namespace hexlane

#endif  // HEXLANE_PACKAGE_MANIFEST_H_
