#include "compiler/fingerprint.h"

#include "package/package.h"
#include "quant/calibration_text.h"

namespace hexlane {
namespace fs = std::filesystem;

Result<Json> FingerprintOf(const ConvertOptions& options, const QuantOptions& quant,
                           const Checkpoint& checkpoint) {
  Json inputs = Json::array();
  for (const fs::path& file : checkpoint.files()) {
    std::error_code error;
    const fs::path real = fs::canonical(file, error);
    const auto time = fs::last_write_time(real, error);
    const auto size = fs::file_size(real, error);
    if (error) return Io("cannot read '{}': {}", file.string(), error.message());
    inputs.push_back(
        {{"path", real.string()}, {"bytes", size}, {"modified", time.time_since_epoch().count()}});
  }
  Json json = {{"version", HEXLANE_VERSION},   {"inputs", inputs},
               {"scheme", quant.scheme->name}, {"kv_bits", quant.kv_bits},
               {"socs", options.socs},         {"contexts", options.contexts},
               {"memory", options.memory},     {"prefill_rows", options.prefill_rows},
               {"emulator", options.emulator}};
  if (!quant.scheme->needs_calibration()) return json;
  std::string text(DefaultCalibrationText());
  if (!options.calibration.empty()) text = TRY(ReadTextFile(options.calibration));
  json["calibration"] = Sha256(std::as_bytes(std::span(text)));
  json["calibration_tokens"] = options.calibration_tokens;
  return json;
}

bool IsUpToDate(const fs::path& directory, const Json& fingerprint) {
  std::error_code ignored;
  if (!fs::exists(directory / "manifest.json", ignored)) return false;
  const auto package = Package::Open(directory, {});
  return package && (*package)->manifest().conversion == fingerprint;
}

}  // namespace hexlane
