// Hexlane's own forms of an overrides file.
#ifndef HEXLANE_QUANT_OVERRIDE_RULES_H_
#define HEXLANE_QUANT_OVERRIDE_RULES_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "quant/overrides.h"

namespace hexlane {

// kCorrupt and kInvalidInput where `json`, called `what` in words, is no object of these fields.
Result<void> CheckFields(const Json& json, std::string_view what,
                         std::span<const std::string_view> fields, std::string_view where);

// {"rules": [{"pattern", "weights", "algorithm", "activations", "min", "max"}]}. kCorrupt and
// kInvalidInput name rule and field, and what may stand there.
Result<std::vector<OverrideRule>> ReadRules(const Json& json, std::string_view where);

// {"weight_width": 4, "activation_width": 16}: the name of the first scheme whose layers' matrices
// and activations have so many bits; 16-bit weights are float16 with float16 activations.
Result<std::string> SchemeOfWidths(const Json& json, std::string_view where);

}  // namespace hexlane

#endif  // HEXLANE_QUANT_OVERRIDE_RULES_H_
