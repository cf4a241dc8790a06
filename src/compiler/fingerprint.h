// Whether a package was made from the same inputs, options and version: then there is nothing to
// convert.
#ifndef HEXLANE_COMPILER_FINGERPRINT_H_
#define HEXLANE_COMPILER_FINGERPRINT_H_

#include "base/json.h"
#include "formats/checkpoint.h"
#include "hexlane/compiler.h"
#include "quant/schemes.h"

namespace hexlane {

// Everything the package's content depends on: version, options, size and modification time of
// every input file, SHA-256 of the calibration data.
Result<Json> FingerprintOf(const ConvertOptions& options, const QuantOptions& quant,
                           const Checkpoint& checkpoint);

// Path, size and modification time of files, links followed.
Result<Json> RecordsOf(const std::vector<std::filesystem::path>& files);

// A name for what is being made from it, while that is unfinished.
std::string KeyOf(const Json& fingerprint);

// Whether the input files that a package's fingerprint speaks of are still those it was made from:
// kInvalidInput names the first that is there but was changed. One that is gone is not looked at.
Result<void> CheckUnchanged(const Json& fingerprint);

// Whether `directory` is an undamaged package with this fingerprint.
bool IsUpToDate(const std::filesystem::path& directory, const Json& fingerprint);

}  // namespace hexlane

#endif  // HEXLANE_COMPILER_FINGERPRINT_H_
