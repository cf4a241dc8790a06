// What became of a checkpoint's own integers, from the units' reports.
#ifndef HEXLANE_COMPILER_KEPT_H_
#define HEXLANE_COMPILER_KEPT_H_

#include "base/json.h"
#include "hexlane/compiler.h"

namespace hexlane {

// `units` is what ToJson(UnitReport) gives of each unit. nullopt where no matrix was kept; tied
// ones count once.
std::optional<KeptWeights> KeptWeightsOf(const Json& units);

}  // namespace hexlane

#endif  // HEXLANE_COMPILER_KEPT_H_
