#include "quant/observe/value_warnings.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "quant/encodings.h"

namespace hexlane {
namespace {

using Sentence = std::optional<std::string>;

Sentence Constant(const ValueReport& value, std::string_view during) {
  if (value.seen->constant)
    return fmt::format("{} is {} for every token of {}", value.name, value.seen->min, during);
  if (value.seen->same_rows)
    return fmt::format("{} is the same row for every token of {}", value.name, during);
  return std::nullopt;
}

Sentence Saturated(const ValueReport& value, std::string_view during) {
  const ValueReport::Seen& seen = *value.seen;
  if (!value.encoding.is_integer() && seen.clipped > 0) {
    return fmt::format("{} overflows {}: it reaches {:.4g} … {:.4g} in {}", value.name,
                       DTypeName(value.encoding.dtype), seen.min, seen.max, during);
  }
  if (seen.extremes_only || seen.clipped <= kMostClipped) return std::nullopt;
  const RealRange held = HeldBy(value.encoding);
  return fmt::format("{} saturates: {:.1f} % of its entries in {} are outside of {:.4g} … {:.4g}",
                     value.name, 100 * seen.clipped, during, held.low, held.high);
}

// An encoding with a range of its own, of a value that is not 0 everywhere.
Sentence ScaleOff(const ValueReport& value, std::string_view during) {
  const ValueReport::Seen& seen = *value.seen;
  const double largest = std::max(std::abs(seen.min), std::abs(seen.max));
  if (!value.encoding.is_integer() || largest == 0) return std::nullopt;
  const double spans = HeldBy(value.encoding).extent();
  const double reach = std::max(0.0f, seen.max) - std::min(0.0f, seen.min);
  const auto says = [&](std::string_view verdict) {
    return fmt::format("{}: the scale {:.4g} is far too {} for {:.4g} … {:.4g}, seen in {}",
                       value.name, value.encoding.scale, verdict, seen.min, seen.max, during);
  };
  if (!(spans * kFarOff >= reach)) return says("small");
  if (seen.extremes_only) return std::nullopt;  // those of scores are widened for masked ones
  if (!(spans <= kFarOff * 2 * largest)) return says("large");
  if (value.encoding.scale <= seen.mean_abs) return std::nullopt;
  return fmt::format(
      "{}: a step of {:.4g} is larger than its mean magnitude in {}, {:.4g}: most of it becomes 0",
      value.name, value.encoding.scale, during, seen.mean_abs);
}

}  // namespace

std::vector<std::string> ValueWarnings(const ValueReport& value, std::string_view during) {
  std::vector<std::string> warnings;
  if (!value.seen) return warnings;
  for (Sentence sentence :
       {Constant(value, during), Saturated(value, during), ScaleOff(value, during)})
    if (sentence) warnings.push_back(*std::move(sentence));
  return warnings;
}

std::vector<std::string> UnitWarnings(const UnitReport& report) {
  std::vector<std::string> all;
  for (const ValueReport& value : report.values)
    for (std::string& warning : ValueWarnings(value, "calibration"))
      all.push_back(std::move(warning));
  return all;
}

}  // namespace hexlane
