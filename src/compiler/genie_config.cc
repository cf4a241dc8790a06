#include "compiler/genie_config.h"

#include <algorithm>
#include <cmath>

#include "base/json.h"
#include "models/rope_scaling.h"

namespace hexlane {
namespace {

// Relative, of frequencies: they are float32 and come from other programs' powers.
constexpr double kTolerance = 1e-5;

// As the checkpoints have it that stretch this way.
constexpr double kLowFactor = 1, kHighFactor = 4;

Json Llama3(const GenieRope& rope, std::string_view separator) {
  const auto key = [&](std::string name) {
    std::replace(name.begin(), name.end(), '_', separator[0]);
    return name;
  };
  return {{key("rope_type"), "llama3"},
          {"factor", rope.factor},
          {key("low_freq_factor"), kLowFactor},
          {key("high_freq_factor"), kHighFactor},
          {key("original_max_position_embeddings"), rope.original_context}};
}

bool Gives(const GenieRope& rope, std::span<const float> inv_freq) {
  const Json parameters = rope.factor == 1 ? Json() : Llama3(rope, "_");
  const Result<RopeFrequencies> made = ScaledFrequencies(
      parameters, rope.theta, 2 * static_cast<int64_t>(inv_freq.size()), 0, "rope");
  return made && std::equal(inv_freq.begin(), inv_freq.end(), made->inv_freq.begin(),
                            made->inv_freq.end(), [](float got, float want) {
                              return std::abs(got - want) <= kTolerance * want;
                            });
}

double ThreeDigits(double value) {
  const double unit = std::pow(10, std::floor(std::log10(value)) - 2);
  return std::round(value / unit) * unit;
}

Json Backend(const GenieConfig& config) {
  const Json htp = {{"version", 1},
                    {"use-mmap", true},
                    {"spill-fill-bufsize", 0},
                    {"mmap-budget", 0},
                    {"poll", !config.emulator},
                    {"cpu-mask", config.emulator ? "0x0" : "0xe0"},  // any; a phone's large cores
                    {"kv-dim", config.head_dim},
                    {"allow-async-init", false}};
  return {{"version", 1}, {"type", "QnnHtp"}, {"QnnHtp", htp}, {"extensions", kHtpConfigFile}};
}

Json Model(const GenieConfig& config) {
  const GenieRope rope = config.rope.value_or(GenieRope{});
  Json positions = {
      {"type", "rope"}, {"rope-dim", config.head_dim / 2}, {"rope-theta", rope.theta}};
  if (rope.factor != 1) positions["rope-scaling"] = Llama3(rope, "-");
  return {{"version", 1},
          {"type", "binary"},
          {"binary", {{"version", 1}, {"ctx-bins", config.binaries}}},
          {"positional-encoding", positions}};
}

}  // namespace

std::optional<GenieRope> FitRope(std::span<const float> inv_freq) {
  if (inv_freq.empty() || inv_freq[0] != 1.0f) return std::nullopt;
  if (inv_freq.size() == 1) return GenieRope{};  // any theta
  const auto half = static_cast<double>(inv_freq.size());
  // The lowest frequency is the most accurate about theta; the second highest is hardly ever
  // stretched.
  const double exact = std::pow(inv_freq.back(), -half / (half - 1));
  for (const double theta : {std::round(exact), exact})
    if (Gives({.theta = theta}, inv_freq)) return GenieRope{.theta = theta};
  for (const double theta : {ThreeDigits(std::pow(inv_freq[1], -half)), 10000.0}) {
    GenieRope rope{.theta = theta};
    rope.factor = std::round(std::pow(theta, (1 - half) / half) / inv_freq.back());
    for (rope.original_context = 32; rope.original_context < 1 << 20; rope.original_context *= 2)
      if (Gives(rope, inv_freq)) return rope;
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
    const std::optional<GenieRope> rope = FitRope(inv_freq.constant->floats());
    if (!rope || std::get<RopeAttrs>(node.attrs).scale != 1)
      return Unsupported("{} has rotary frequencies that Genie cannot be told of", name)
          .Want("plain ones, or stretched as Llama 3.1's");
    if (config.rope.value_or(*rope) != *rope)
      return Unsupported("{} has other rotary frequencies than the layers before", name);
    config.rope = rope;
  }
  return {};
}

std::string GenieConfigText(const GenieConfig& config) {
  const Json context = {{"version", 1},
                        {"size", config.context},
                        {"n-vocab", config.vocab},
                        {"bos-token", config.bos_id},
                        {"eos-token", config.eos_ids}};
  // Genie 2.51 accepts "greedy" and samples all the same: one candidate is what makes it greedy.
  const Json greedy = {{"version", 1}, {"seed", 42}, {"temp", 1.0}, {"top-k", 1}, {"top-p", 1.0}};
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
  if (!config.emulator) json["context"] = {{"weight_sharing_enabled", true}};
  return json.dump(2) + "\n";
}

}  // namespace hexlane
