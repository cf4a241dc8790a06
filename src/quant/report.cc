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
    json["constant"] = value.seen->constant;
  }
  return json;
}

Json ToJson(const WeightReport& weight) {
  Json json = {{"name", weight.name},
               {"shape", weight.shape.dims()},
               {"scheme", Info(weight.scheme).name},
               {"bits", weight.bits},
               {"kept", weight.kept}};
  if (weight.snr_db) json["snr_db"] = *weight.snr_db;
  return json;
}

}  // namespace

Json ToJson(const UnitReport& report) {
  Json json = {{"unit", report.unit}, {"values", Json::array()}, {"weights", Json::array()}};
  for (const ValueReport& value : report.values) json["values"].push_back(ToJson(value));
  for (const WeightReport& weight : report.weights) json["weights"].push_back(ToJson(weight));
  return json;
}

}  // namespace hexlane
