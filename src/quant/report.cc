#include "quant/report.h"

#include "base/json.h"

namespace hexlane {
namespace {

Json ToJson(const ValueReport& value) {
  Json json = {{"name", value.name}, {"dtype", DTypeName(value.encoding.dtype)}};
  if (value.encoding.is_integer()) {
    json["scale"] = value.encoding.scale;
    json["offset"] = value.encoding.offset;
  }
  if (value.seen) {
    json["min"] = value.seen->min;
    json["max"] = value.seen->max;
    json["mean_abs"] = value.seen->mean_abs;
    json["clipped"] = value.seen->clipped;
    json["constant"] = value.seen->constant;
    json["same_rows"] = value.seen->same_rows;
    json["extremes_only"] = value.seen->extremes_only;
  }
  if (!value.rule.empty()) json["rule"] = value.rule;
  return json;
}

Json ToJson(const WeightReport& weight) {
  Json json = {{"name", weight.name},
               {"shape", weight.shape.dims()},
               {"scheme", Info(weight.scheme).name},
               {"bits", weight.bits},
               {"kept", weight.kept}};
  if (weight.snr_db) json["snr_db"] = *weight.snr_db;
  if (!weight.rule.empty()) json["rule"] = weight.rule;
  return json;
}

}  // namespace

double UnitReport::clipped() const {
  double clipped = 0, count = 0;
  for (const ValueReport& value : values) {
    if (!value.seen || value.seen->extremes_only) continue;
    clipped += value.seen->clipped * static_cast<double>(value.seen->count);
    count += static_cast<double>(value.seen->count);
  }
  return count > 0 ? clipped / count : 0;
}

Json ToJson(const UnitReport& report) {
  Json json = {{"unit", report.unit},
               {"clipped", report.clipped()},
               {"values", Json::array()},
               {"weights", Json::array()}};
  for (const ValueReport& value : report.values) json["values"].push_back(ToJson(value));
  for (const WeightReport& weight : report.weights) json["weights"].push_back(ToJson(weight));
  if (report.finetune)
    json["finetune"] = {{"error_before", report.finetune->error_before},
                        {"error_after", report.finetune->error_after},
                        {"epochs", report.finetune->epochs}};
  return json;
}

namespace {

// The fields of a value that were seen; none where the entry has no such range.
std::optional<ValueReport::Seen> SeenOf(const Json& value) {
  const auto min = JsonField<double>(value, "min", ""), max = JsonField<double>(value, "max", "");
  if (!min || !max) return std::nullopt;
  const auto extremes = JsonFieldOr<bool>(value, "extremes_only", false, "");
  return ValueReport::Seen{.min = static_cast<float>(*min),
                           .max = static_cast<float>(*max),
                           .extremes_only = extremes.value_or(false)};
}

}  // namespace

SeenByName SeenInCalibration(const Json& report) {
  SeenByName all;
  const Json none = Json::array();
  const auto entries = [&](const Json& object, std::string_view key) {
    return JsonArray(object, key, "").value_or(&none);
  };
  for (const Json& unit : *entries(report, "units")) {
    for (const Json& value : *entries(unit, "values")) {
      const auto name = JsonField<std::string>(value, "name", "");
      const auto seen = SeenOf(value);
      if (name && seen) all[*name] = *seen;
    }
  }
  return all;
}

}  // namespace hexlane
