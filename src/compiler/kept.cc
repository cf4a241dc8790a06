#include "compiler/kept.h"

#include <limits>
#include <set>

namespace hexlane {

std::optional<KeptWeights> KeptWeightsOf(const Json& units) {
  KeptWeights kept;
  std::set<std::string> counted;
  for (const Json& unit : units) {
    KeptWeights::Loss worst;
    worst.unit = unit.value("unit", "");
    worst.snr_db = std::numeric_limits<double>::infinity();
    for (const Json& weight : unit.value("weights", Json::array())) {
      const std::string name = weight.value("name", "");
      if (!counted.insert(name).second) continue;
      const bool lost = weight.contains("snr_db");
      ++kept.matrices;
      kept.kept += weight.value("kept", false);
      kept.exact += weight.value("kept", false) && !lost;
      const double snr_db = lost ? weight.value("snr_db", 0.0) : worst.snr_db;
      if (snr_db >= worst.snr_db) continue;
      worst.snr_db = snr_db;
      worst.weight = name;
    }
    if (!worst.weight.empty()) kept.losses.push_back(worst);
  }
  if (kept.kept == 0) return std::nullopt;
  return kept;
}

}  // namespace hexlane
