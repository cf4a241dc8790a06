// Splitting a package for delivery: which variants and files one SoC's package keeps.
#ifndef HEXLANE_COMPILER_SPLIT_H_
#define HEXLANE_COMPILER_SPLIT_H_

#include <string>
#include <vector>

#include "package/package.h"

namespace hexlane {

// SoCs of the NPU variants, in the plan's order.
std::vector<std::string> NpuSocs(const Plan& plan);

// `socs` by the package's names, once each; none: all. Errors as SplitPackage's.
Result<std::vector<std::string>> ChooseSocs(const Package& package,
                                            const std::vector<std::string>& socs);

// The manifest of the package for one SoC: only its NPU variants and those for the CPU. It never
// counts as up to date with the conversion.
Manifest ManifestFor(const Package& package, const std::string& soc);

// The files of `package` that these variants need, and those that describe the model, sorted.
std::vector<std::string> DeliveredFiles(const Package& package, const Plan& plan);

}  // namespace hexlane

#endif  // HEXLANE_COMPILER_SPLIT_H_
