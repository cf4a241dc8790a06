#include "quant/calibrate.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>
#include <tuple>

#include "base/finite.h"
#include "base/json.h"

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

Calibrator::Calibrator(std::vector<std::vector<int32_t>> windows, ThreadPool* pool)
    : run_(std::move(windows)), pool_(pool) {
  std::set<int32_t> ids;
  for (size_t i = 0; i < run_.size() && ids.size() < 2; ++i)
    ids.insert(run_.ids(i).begin(), run_.ids(i).end());
  inputs_differ_ = ids.size() > 1;
}

// Encodings of the units before are settled.
void Calibrator::ForgetEarlierUnits(const Graph& unit) {
  std::set<std::string_view> names;
  for (const Value& value : unit.values()) names.insert(value.name);
  for (auto& [name, range] : ranges_)
    if (!names.contains(name)) range.histogram = {}, range.rows = {};
}

Result<void> Calibrator::Record(const Value& value, std::span<const float> values) {
  if (values.empty()) return {};
  if (!AllFinite(values)) {
    return InvalidInput("an activation is not finite in float32")
        .At("{}", value.name)
        .Remedy("the checkpoint is damaged, or its weights are too large");
  }
  ActivationRange& range = ranges_.try_emplace(value.name).first->second;
  for (float element : values) {
    range.min = element < range.min ? element : range.min;
    range.max = element > range.max ? element : range.max;
    range.sum_abs += std::abs(element);
  }
  if (inputs_differ_ && value.shape.last() > 0) range.rows.Add(values, value.shape.last());
  range.histogram.Add(values);
  range.count += static_cast<int64_t>(values.size());
  return {};
}

namespace {

std::set<std::string_view> InputsOfMatrices(const Graph& unit) {
  std::set<std::string_view> names;
  for (const Node& node : unit.nodes())
    if (node.op == OpKind::kLinear) names.insert(unit.value(node.inputs[0]).name);
  return names;
}

}  // namespace

Result<void> Calibrator::Run(const Graph& unit, MomentsByValue* moments, bool keep_output) {
  const auto multiplied = moments ? InputsOfMatrices(unit) : std::set<std::string_view>();
  ForgetEarlierUnits(unit);
  Result<void> recorded;  // the first failure: an Observer cannot return one
  const Observer observer = [&](const Value& value, std::span<const float> values) {
    if (recorded) recorded = Record(value, values);
    if (!recorded || !multiplied.contains(value.name)) return;
    const int64_t dim = value.shape.last();
    (*moments)[value.name].Add({values.data(), std::ssize(values) / dim, dim}, pool_);
  };
  const DecoderRun::Sink drop = [](size_t, std::vector<float>) { return Result<void>(); };
  TRY(run_.Advance(unit, {.pool = pool_}, observer, keep_output ? DecoderRun::Sink() : drop));
  return recorded;
}

Result<void> Calibrator::Advance(const Graph& unit, bool is_last) {
  return Run(unit, nullptr, !is_last);
}

Result<void> Calibrator::Observe(const Graph& unit, MomentsByValue& moments) {
  for (const Node& node : unit.nodes())
    for (const ValueId id : node.outputs) ranges_.erase(unit.value(id).name);
  return Run(unit, &moments, false);
}

Result<void> Calibrator::Follow(const Graph& quantised) {
  return run_.Advance(quantised, {.fake_quantise = true, .pool = pool_});
}

// A JSON header (doubles keep floats exactly), a zero byte, the floats of the hidden states.
std::string Calibrator::Save() const {
  Json header = {{"ranges", Json::object()}, {"hidden", Json::array()}};
  for (const auto& [name, range] : ranges_)
    header["ranges"][name] = {range.min,   range.max,         range.sum_abs,
                              range.count, range.rows.same(), range.histogram.Save()};
  std::string floats;
  for (size_t i = 0; i < run_.size(); ++i) {
    const auto bytes = std::as_bytes(run_.hidden(i));
    header["hidden"].push_back(run_.hidden(i).size());
    floats.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  return header.dump() + '\0' + floats;
}

Result<void> Calibrator::Restore(std::string_view saved) {
  constexpr std::string_view kWhere = "calibration state";
  const size_t end = std::min(saved.find('\0'), saved.size());
  const Json header = TRY(ParseJson(saved.substr(0, end), kWhere));
  ActivationRanges ranges;
  for (const auto& [name, range] : TRY(JsonObject(header, "ranges", kWhere))->items()) {
    const auto [min, max, sum_abs, count, same, histogram] =
        range.get<std::tuple<float, float, double, int64_t, bool, Json>>();
    ranges[name] = {
        min, max, sum_abs, count, RowWatch::Restored(same), TRY(Histogram::Restore(histogram))};
  }
  const auto sizes = TRY(JsonArray(header, "hidden", kWhere))->get<std::vector<size_t>>();
  std::vector<std::vector<float>> hidden;
  saved.remove_prefix(std::min(end + 1, saved.size()));
  for (const size_t size : sizes) {
    if (size > saved.size() / sizeof(float)) return Corrupt("hidden states are cut off");
    std::vector<float>& values = hidden.emplace_back(size);
    std::memcpy(values.data(), saved.data(), size * sizeof(float));
    saved.remove_prefix(size * sizeof(float));
  }
  if (hidden.size() != run_.size() || !saved.empty()) return Corrupt("not of these windows");
  run_.Restore(std::move(hidden));
  ranges_ = std::move(ranges);
  return {};
}

}  // namespace hexlane
