// An overrides file on a model: read, settled on the model's tensors, and checked against what is
// known before any work.
#ifndef HEXLANE_COMPILER_OVERRIDES_H_
#define HEXLANE_COMPILER_OVERRIDES_H_

#include <filesystem>
#include <span>
#include <string>

#include "models/decoder.h"
#include "quant/schemes.h"
#include "target/target.h"

namespace hexlane {

// Errors name the file: see ParseOverrides.
Result<OverrideFile> ReadOverrides(const std::filesystem::path& file);

// The scheme that the user or the file names, or neither (empty). kUsage when they differ.
Result<std::string> SchemeOf(const std::string& given, const OverrideFile& file);

// Sets options.overrides. kInvalidInput, naming the rule, where one is about nothing in the model,
// fixes the range of a value that is float16, or gives a form that a target's NPU refuses; then
// also the nearest form that it takes.
Result<void> SettleOverrides(const OverrideFile& file, const Decoder& decoder,
                             std::span<const Target* const> targets, QuantOptions& options);

// The model's matrices and values by all their names, those of Hugging Face and GGUF included.
Result<OverridableTensors> TensorsOf(const Decoder& decoder, const Algorithm& algorithm);

}  // namespace hexlane

#endif  // HEXLANE_COMPILER_OVERRIDES_H_
