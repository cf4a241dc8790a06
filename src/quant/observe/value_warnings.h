// What is suspicious about a value and its encoding: signs of a broken checkpoint, graph,
// calibration or override, which show as output that never changes or makes no sense.
#ifndef HEXLANE_QUANT_OBSERVE_VALUE_WARNINGS_H_
#define HEXLANE_QUANT_OBSERVE_VALUE_WARNINGS_H_

#include <string>
#include <string_view>
#include <vector>

#include "quant/report.h"

namespace hexlane {

// One sentence for each of these; `during`: "calibration", "this text".
//   constant   the same number everywhere, or the same row for every token
//   saturated  more than kMostClipped of the elements are outside of what the encoding holds; or
//              any becomes infinite in float16
//   scale      the encoding spans kFarOff times what was seen or more, or that much less; or its
//              step is larger than the mean magnitude, so that most elements become 0
std::vector<std::string> ValueWarnings(const ValueReport& value, std::string_view during);
// Of all values of a unit, in calibration.
std::vector<std::string> UnitWarnings(const UnitReport& report);

inline constexpr double kMostClipped = 0.01;
inline constexpr double kFarOff = 8;

}  // namespace hexlane

#endif  // HEXLANE_QUANT_OBSERVE_VALUE_WARNINGS_H_
