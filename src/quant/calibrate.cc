#include "quant/calibrate.h"

#include <algorithm>
#include <cmath>

namespace hexlane {

std::vector<std::vector<int32_t>> CalibrationWindows(std::span<const int32_t> ids, size_t window,
                                                     size_t max_windows) {
  std::vector<std::vector<int32_t>> windows;
  for (size_t begin = 0; windows.size() < max_windows && begin < ids.size(); begin += window) {
    const std::span<const int32_t> part = ids.subspan(begin, std::min(window, ids.size() - begin));
    if (part.size() < window && !windows.empty()) break;
    windows.emplace_back(part.begin(), part.end());
  }
  return windows;
}

Result<void> Calibrator::Record(std::string_view name, std::span<const float> values) {
  if (values.empty()) return {};
  if (!AllFinite(values)) {
    return InvalidInput("an activation is not finite in float32")
        .At("{}", name)
        .Remedy("the checkpoint is damaged, or its weights are too large");
  }
  ActivationRange& range = ranges_.try_emplace(std::string(name)).first->second;
  for (float value : values) {
    range.min = value < range.min ? value : range.min;
    range.max = value > range.max ? value : range.max;
    range.sum_abs += std::abs(value);
  }
  range.count += static_cast<int64_t>(values.size());
  return {};
}

Result<void> Calibrator::Advance(const Graph& unit, bool is_last) {
  Result<void> recorded;  // the first failure: an Observer cannot return one
  const Observer observer = [&](const Value& value, std::span<const float> values) {
    if (recorded) recorded = Record(value.name, values);
  };
  const DecoderRun::Sink drop = [](size_t, std::vector<float>) { return Result<void>(); };
  TRY(run_.Advance(unit, {.pool = pool_}, observer, is_last ? drop : DecoderRun::Sink()));
  return recorded;
}

}  // namespace hexlane
