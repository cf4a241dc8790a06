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

// Rotary frequencies theta^(-2i/D), i = 0 … D/2 - 1, or those stretched as Llama 3.1 does it.
struct GenieRope {
  double theta = 10000;
  double factor = 1;            // by which low frequencies are divided; 1: plain
  double original_context = 0;  // positions before stretching
  friend bool operator==(const GenieRope&, const GenieRope&) = default;
};

struct GenieConfig {
  int vocab = 0;
  int context = 0;
  int head_dim = 0;
  int32_t bos_id = -1;  // Genie puts it before every prompt that begins a dialog; -1: none
  std::vector<int32_t> eos_ids;
  const Target* target = nullptr;
  bool emulator = false;  // on x86_64, where weights are not shared and processors are few
  std::vector<std::string> binaries;
  std::optional<GenieRope> rope;  // set by ReadPositions
};

// Takes the rotary parameters of a unit's graph into the configuration: Genie makes the tables and
// the mask itself. kUnsupported, saying why, for what it cannot make: frequencies of another form,
// scaled tables, several of them, sliding windows.
Result<void> ReadPositions(const Graph& unit, GenieConfig& config);

// The parameters that give these frequencies; none when no round ones do.
std::optional<GenieRope> FitRope(std::span<const float> inv_freq);

std::string GenieConfigText(const GenieConfig& config);
std::string HtpConfigText(const GenieConfig& config);

}  // namespace hexlane

#endif  // HEXLANE_COMPILER_GENIE_CONFIG_H_
