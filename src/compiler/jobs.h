// The steps of one conversion as jobs that other machines can do: quantise, then every NPU part by
// itself, then the conversion, which finds all that finished (docs/compiler.md).
#ifndef HEXLANE_COMPILER_JOBS_H_
#define HEXLANE_COMPILER_JOBS_H_

#include <filesystem>
#include <vector>

#include "compiler/variant.h"
#include "hexlane/compiler.h"
#include "quant/schemes.h"

namespace hexlane {

inline constexpr std::string_view kQuantiseStep = "quantise";

struct JobArgs {
  std::vector<std::filesystem::path> inputs;  // checkpoint, calibration text
  std::filesystem::path staging;              // folder of the unfinished package
  std::filesystem::path package;
  QuantOptions options;
  std::vector<VariantArgs> variants;  // with their partitions, made from `units`
  UnitSource units;
  int calibration_tokens = 0;
};

Result<std::vector<ConvertJob>> JobsOf(const JobArgs& args);

}  // namespace hexlane

#endif  // HEXLANE_COMPILER_JOBS_H_
