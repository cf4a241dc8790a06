#include "compiler/genie_config.h"

#include <cmath>

#include "base/json.h"

namespace hexlane {
namespace {

// Of rounding: inv_freq is float32, and comes from other programs' powers.
constexpr double kThetaTolerance = 1e-5;

Json Backend(const GenieConfig& config) {
  const Json htp = {{"version", 1},
                    {"use-mmap", true},
                    {"spill-fill-bufsize", 0},
                    {"mmap-budget", 0},
                    {"poll", true},
                    {"cpu-mask", "0xe0"},
                    {"kv-dim", config.head_dim},
                    {"allow-async-init", false}};
  return {{"version", 1}, {"type", "QnnHtp"}, {"QnnHtp", htp}, {"extensions", kHtpConfigFile}};
}

Json Model(const GenieConfig& config) {
  const Json rope = {{"type", "rope"},
                     {"rope-dim", config.head_dim / 2},
                     {"rope-theta", config.rope_theta.value_or(10000)}};
  return {{"version", 1},
          {"type", "binary"},
          {"binary", {{"version", 1}, {"ctx-bins", config.binaries}}},
          {"positional-encoding", rope}};
}

}  // namespace

std::optional<double> RopeTheta(std::span<const float> inv_freq) {
  if (inv_freq.empty() || inv_freq[0] != 1.0f) return std::nullopt;
  if (inv_freq.size() == 1) return 10000;  // any
  const auto half = static_cast<double>(inv_freq.size());
  // The last one says most about theta; a theta is a round number far more often than not.
  const double exact = std::pow(inv_freq.back(), -half / (half - 1));
  for (const double theta : {std::round(exact), exact}) {
    bool fits = true;
    for (size_t i = 0; i < inv_freq.size(); ++i) {
      const double want = std::pow(theta, -static_cast<double>(i) / half);
      fits &= std::abs(inv_freq[i] - want) <= kThetaTolerance * want;
    }
    if (fits) return theta;
  }
  return std::nullopt;
}

Result<void> ReadPositions(const Graph& unit, GenieConfig& config) {
  for (const Node& node : unit.nodes()) {
    const std::string& name = unit.NameOf(node);
    if (node.op == OpKind::kAttention && std::get<AttentionAttrs>(node.attrs).window != 0)
      return Unsupported("{} sees a sliding window; Genie has one mask for all layers", name);
    if (node.op != OpKind::kRope) continue;
    const Value& inv_freq = unit.value(node.inputs[2]);
    const std::optional<double> theta = RopeTheta(inv_freq.constant->floats());
    if (!theta || std::get<RopeAttrs>(node.attrs).scale != 1)
      return Unsupported("{} has scaled rotary frequencies, which this export cannot describe",
                         name);
    if (config.rope_theta.value_or(*theta) != *theta)
      return Unsupported("{} has another rotary base than the layers before", name)
          .Want("{}", *config.rope_theta)
          .Got("{}", *theta);
    config.rope_theta = theta;
  }
  return {};
}

std::string GenieConfigText(const GenieConfig& config) {
  const Json context = {{"version", 1},
                        {"size", config.context},
                        {"n-vocab", config.vocab},
                        {"bos-token", config.bos_id},
                        {"eos-token", config.eos_ids}};
  const Json greedy = {{"version", 1}, {"seed", 42},   {"temp", 1.0},
                       {"top-k", 1},   {"top-p", 1.0}, {"greedy", true}};
  const Json engine = {
      {"version", 1}, {"n-threads", 3}, {"backend", Backend(config)}, {"model", Model(config)}};
  const Json dialog = {{"version", 1},
                       {"type", "basic"},
                       {"context", context},
                       {"sampler", greedy},
                       {"tokenizer", {{"version", 1}, {"path", "tokenizer.json"}}},
                       {"engine", engine}};
  return Json{{"dialog", dialog}}.dump(2) + "\n";
}

std::string HtpConfigText(const GenieConfig& config) {
  const Json core = {{"core_id", 0}, {"perf_profile", "burst"}, {"rpc_control_latency", 100}};
  const Json device = {{"soc_model", config.target->soc_id},
                       {"dsp_arch", fmt::format("v{}", static_cast<int>(config.target->arch))},
                       {"cores", Json::array({core})}};
  Json json = {{"devices", Json::array({device})}, {"memory", {{"mem_type", "shared_buffer"}}}};
  if (config.share_weights) json["context"] = {{"weight_sharing_enabled", true}};
  return json.dump(2) + "\n";
}

}  // namespace hexlane
