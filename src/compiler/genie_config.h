// The two configuration files of a Genie folder, as Qualcomm documents them ("Genie Dialog JSON
// configuration string", docs.qualcomm.com/doc/80-63442-10).
#ifndef HEXLANE_COMPILER_GENIE_CONFIG_H_
#define HEXLANE_COMPILER_GENIE_CONFIG_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"
#include "target/target.h"

namespace hexlane {

inline constexpr std::string_view kGenieConfigFile = "genie_config.json";
inline constexpr std::string_view kHtpConfigFile = "htp_backend_ext_config.json";

struct GenieConfig {
  int vocab = 0;
  int context = 0;
  int head_dim = 0;
  int32_t bos_id = -1;  // that Genie puts before every first prompt; -1: none
  std::vector<int32_t> eos_ids;
  const Target* target = nullptr;
  bool share_weights = false;
  std::vector<std::string> binaries;
  std::optional<double> rope_theta;  // set by ReadPositions
};

// Takes the rotary parameters of a unit's graph into the configuration: Genie makes the tables and
// the mask itself. kUnsupported, saying why, for what it cannot make: frequencies that are not
// theta^(-2i/D), scaled tables, several of them, sliding windows.
Result<void> ReadPositions(const Graph& unit, GenieConfig& config);

// theta of θ^(-2i/D), i = 0 … D/2 - 1; none when the frequencies are not of this form.
std::optional<double> RopeTheta(std::span<const float> inv_freq);

std::string GenieConfigText(const GenieConfig& config);
std::string HtpConfigText(const GenieConfig& config);

}  // namespace hexlane

#endif  // HEXLANE_COMPILER_GENIE_CONFIG_H_
