#include "compiler/fingerprint.h"

#include "compiler/calibration/calibration_source.h"
#include "package/package.h"

namespace hexlane {
namespace fs = std::filesystem;

namespace {

// Path, size and modification time of a file, links followed.
Result<Json> RecordOf(const fs::path& file) {
  std::error_code error;
  const fs::path real = fs::canonical(file, error);
  const auto time = fs::last_write_time(real, error);
  const auto size = fs::file_size(real, error);
  if (error) return Io("cannot read '{}': {}", file.string(), error.message());
  return Json{
      {"path", real.string()}, {"bytes", size}, {"modified", time.time_since_epoch().count()}};
}

}  // namespace

Result<Json> RecordsOf(const std::vector<fs::path>& files) {
  Json records = Json::array();
  for (const fs::path& file : files) records.push_back(TRY(RecordOf(file)));
  return records;
}

std::string KeyOf(const Json& fingerprint) {
  const std::string text = fingerprint.dump();
  return Sha256(std::as_bytes(std::span(text))).substr(0, 16);
}

Result<void> CheckUnchanged(const Json& fingerprint) {
  if (!fingerprint.is_object() || !fingerprint.contains("inputs")) return {};
  for (const Json& input : *TRY(JsonArray(fingerprint, "inputs", "manifest.json: conversion"))) {
    const std::string path = TRY(JsonField<std::string>(input, "path", "manifest.json: inputs"));
    const Result<Json> now = RecordOf(path);
    if (!now || *now == input) continue;
    return InvalidInput("the checkpoint was changed since the package was made")
        .At("{}", path)
        .Remedy("Convert again, or name the checkpoint to compare with by --checkpoint");
  }
  return {};
}

Result<Json> FingerprintOf(const ConvertOptions& options, const QuantOptions& quant,
                           const Checkpoint& checkpoint) {
  const Json inputs = TRY(RecordsOf(checkpoint.files()));
  Json json = {{"version", HEXLANE_VERSION},   {"inputs", inputs},
               {"scheme", quant.scheme->name}, {"kv_bits", quant.kv_bits},
               {"socs", options.socs},         {"contexts", options.contexts},
               {"memory", options.memory},     {"prefill_rows", options.prefill_rows},
               {"emulator", options.emulator}, {"algorithm", quant.algorithm.name()}};
  if (!quant.overrides.empty()) json["overrides"] = ToJson(quant.overrides);
  if (quant.finetune)
    json["finetune"] = {{"epochs", quant.finetune->epochs},
                        {"learning_rate", quant.finetune->learning_rate},
                        {"rank", quant.finetune->rank}};
  if (!quant.needs_calibration()) return json;
  json["calibration"] = TRY(CalibrationDigest(options.calibration));
  json["calibration_tokens"] = options.calibration_tokens;
  if (quant.observer.kind != RangeRule::Kind::kMinMax) json["observer"] = quant.observer.name();
  return json;
}

bool IsUpToDate(const fs::path& directory, const Json& fingerprint) {
  std::error_code ignored;
  if (!fs::exists(directory / "manifest.json", ignored)) return false;
  const auto package = Package::Open(directory, {});
  return package && (*package)->manifest().conversion == fingerprint;
}

}  // namespace hexlane
