#include "quant/observe/range_watch.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "quant/encodings.h"
#include "quant/observe/value_warnings.h"
#include "quant/quantize_unit.h"

namespace hexlane {

RangeWatch::Watched& RangeWatch::Find(const Value& value) {
  const auto [it, is_new] = index_.try_emplace(value.name, watched_.size());
  if (!is_new) return watched_[it->second];
  Watched& watched = watched_.emplace_back();
  watched.report.name = value.name;
  watched.report.encoding = *value.encoding;
  watched.report.seen = {.min = std::numeric_limits<float>::max(),
                         .max = std::numeric_limits<float>::lowest()};
  const auto calibrated = calibrated_.find(value.name);
  if (calibrated != calibrated_.end())
    watched.report.seen->extremes_only = calibrated->second.extremes_only;
  return watched;
}

void RangeWatch::See(const Value& value, std::span<const float> values) {
  if (!value.encoding || values.empty()) return;
  Watched& watched = Find(value);
  ValueReport::Seen& seen = *watched.report.seen;
  const RealRange held = HeldBy(*value.encoding);
  for (const float element : values) {
    if (!std::isfinite(element)) {
      ++watched.not_finite;
      continue;
    }
    seen.min = std::min(seen.min, element);
    seen.max = std::max(seen.max, element);
    watched.sum_abs += std::abs(element);
    watched.clipped += !held.holds(element);
  }
  seen.count += static_cast<int64_t>(values.size());
  if (inputs_differ_ && value.shape.last() > 0) watched.rows.Add(values, value.shape.last());
}

ValueReport RangeWatch::ReportOf(const Watched& watched) const {
  ValueReport report = watched.report;
  const auto count = static_cast<double>(report.seen->count);
  report.seen->mean_abs = watched.sum_abs / count;
  report.seen->clipped = static_cast<double>(watched.clipped) / count;
  report.seen->constant = report.seen->min == report.seen->max && report.seen->count > 1;
  report.seen->same_rows = watched.rows.same();
  return report;
}

namespace {

// Empty where `now` stays within what calibration saw, but for a little.
std::string BeyondCalibration(const ValueReport& now, const ValueReport::Seen& calibrated) {
  const double low = std::min(0.0f, calibrated.min), high = std::max(0.0f, calibrated.max);
  const double slack = RangeWatch::kOvershoot * (high - low);
  const double below = calibrated.extremes_only ? std::max<double>(slack, kMaskMargin) : slack;
  if (now.seen->min >= low - below && now.seen->max <= high + slack) return {};
  return fmt::format(
      "{} reaches {:.4g} … {:.4g}, calibration saw {:.4g} … {:.4g} only: calibrate "
      "on text like this one",
      now.name, now.seen->min, now.seen->max, calibrated.min, calibrated.max);
}

}  // namespace

std::vector<std::string> RangeWatch::WarningsOf(const Watched& watched) const {
  std::vector<std::string> warnings;
  if (watched.not_finite > 0)
    warnings.push_back(fmt::format("{} is NaN or infinite in {} entries", watched.report.name,
                                   watched.not_finite));
  if (watched.not_finite == watched.report.seen->count) return warnings;
  const ValueReport report = ReportOf(watched);
  for (std::string& warning : ValueWarnings(report, "this text"))
    warnings.push_back(std::move(warning));
  const auto calibrated = calibrated_.find(report.name);
  if (calibrated == calibrated_.end() || !report.encoding.is_integer()) return warnings;
  std::string beyond = BeyondCalibration(report, calibrated->second);
  if (!beyond.empty()) warnings.push_back(std::move(beyond));
  return warnings;
}

std::vector<std::string> RangeWatch::Warnings(size_t most) const {
  std::vector<std::string> all;
  size_t left_out = 0;
  for (const Watched& watched : watched_) {
    std::vector<std::string> warnings = WarningsOf(watched);
    if (all.size() + warnings.size() > most)
      left_out += 1;
    else
      std::ranges::move(warnings, std::back_inserter(all));
  }
  if (left_out > 0) all.push_back(fmt::format("… and warnings about {} more values", left_out));
  return all;
}

}  // namespace hexlane
