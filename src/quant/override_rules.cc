#include "quant/override_rules.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "quant/schemes.h"

namespace hexlane {
namespace {

constexpr std::array<std::string_view, 6> kFields = {"pattern",     "weights", "algorithm",
                                                     "activations", "min",     "max"};

// kPlain and all rows of schemes.def.
std::vector<std::string_view> WeightForms() {
  std::vector<std::string_view> names = {WeightsName(Scheme::kPlain)};
  for (const Scheme scheme : AllSchemes()) names.push_back(Info(scheme).name);
  return names;
}

Failure NotOneOf(std::string_view field, const std::string& got, std::string_view where,
                 const std::vector<std::string_view>& known) {
  return InvalidInput("{} '{}' is not known", field, got)
      .At("{}", where)
      .Want("one of: {}", fmt::join(known, ", "));
}

Result<std::optional<Scheme>> ReadWeights(const Json& rule, std::string_view where) {
  const auto name = TRY(JsonFieldOr<std::string>(rule, "weights", "", where));
  if (name.empty()) return std::nullopt;
  if (name == WeightsName(Scheme::kPlain) || name == "plain") return Scheme::kPlain;
  if (const std::optional<Scheme> scheme = SchemeFromName(name)) return scheme;
  return NotOneOf("weights", name, where, WeightForms());
}

Result<std::optional<DType>> ReadActivations(const Json& rule, std::string_view where) {
  const auto name = TRY(JsonFieldOr<std::string>(rule, "activations", "", where));
  if (name.empty()) return std::nullopt;
  for (const DType dtype : {DType::kF16, DType::kU16, DType::kU8})
    if (name == DTypeName(dtype)) return dtype;
  return NotOneOf("activations", name, where, {"f16", "u16", "u8"});
}

Result<std::optional<bool>> ReadAlgorithm(const Json& rule, std::string_view where) {
  const auto name = TRY(JsonFieldOr<std::string>(rule, "algorithm", "", where));
  if (name.empty()) return std::nullopt;
  if (name == "on" || name == "off") return name == "on";
  return NotOneOf("algorithm", name, where, {"on", "off"});
}

Result<std::optional<MinMax>> ReadRange(const Json& rule, std::string_view where) {
  if (!rule.contains("min") && !rule.contains("max")) return std::nullopt;
  const MinMax range{static_cast<float>(TRY(JsonField<double>(rule, "min", where))),
                     static_cast<float>(TRY(JsonField<double>(rule, "max", where)))};
  if (IsRange(range)) return range;
  return InvalidInput("not a range")
      .At("{}", where)
      .Want("min ≤ 0 ≤ max, min < max")
      .Got("{} to {}", range.min, range.max);
}

Result<OverrideRule> ReadRule(const Json& json, const std::string& where) {
  TRY(CheckFields(json, "a rule", kFields, where));
  OverrideRule rule{.pattern = TRY(JsonField<std::string>(json, "pattern", where)),
                    .gives = {.weights = TRY(ReadWeights(json, where)),
                              .algorithm = TRY(ReadAlgorithm(json, where)),
                              .activations = TRY(ReadActivations(json, where)),
                              .range = TRY(ReadRange(json, where)),
                              .rule = where}};
  if (rule.gives.for_matrices() || rule.gives.for_values()) return rule;
  return InvalidInput("the rule for '{}' says nothing", rule.pattern)
      .At("{}", where)
      .Want("one of: {}", fmt::join(std::span(kFields).subspan(1), ", "));
}

}  // namespace

Result<void> CheckFields(const Json& json, std::string_view what,
                         std::span<const std::string_view> fields, std::string_view where) {
  if (!json.is_object()) return Corrupt("{} is no object", what).At("{}", where);
  for (const auto& [key, value] : json.items())
    if (std::ranges::find(fields, key) == fields.end())
      return InvalidInput("{} has no field '{}'", what, key)
          .At("{}", where)
          .Want("one of: {}", fmt::join(fields, ", "));
  return {};
}

Result<std::vector<OverrideRule>> ReadRules(const Json& json, std::string_view where) {
  const Json& list = *TRY(JsonArray(json, "rules", where));
  std::vector<OverrideRule> rules;
  for (size_t i = 0; i < list.size(); ++i)
    rules.push_back(TRY(ReadRule(list[i], fmt::format("{}: rules[{}]", where, i))));
  return rules;
}

namespace {

constexpr std::array<std::string_view, 2> kWidths = {"weight_width", "activation_width"};

int WeightBits(const QuantScheme& scheme) {
  return scheme.layers == Scheme::kPlain ? 16 : Info(scheme.layers).bits;
}

int ActivationBits(const QuantScheme& scheme) {
  return static_cast<int>(8 * DTypeBytes(scheme.activations));
}

// Widths are of integers, but for 16-bit weights, which are float16 and want such activations.
bool HasWidths(const QuantScheme& scheme, int64_t weights, int64_t activations) {
  if (scheme.keeps_stored) return false;
  const bool is_float = scheme.activations == DType::kF16;
  return is_float == (weights == 16) && WeightBits(scheme) == weights &&
         ActivationBits(scheme) == activations;
}

}  // namespace

Result<std::string> SchemeOfWidths(const Json& json, std::string_view where) {
  TRY(CheckFields(json, "a file of widths", kWidths, where));
  const auto weights = TRY(JsonField<int64_t>(json, "weight_width", where));
  const auto activations = TRY(JsonField<int64_t>(json, "activation_width", where));
  std::string known;
  for (const QuantScheme& scheme : AllQuantSchemes()) {
    if (HasWidths(scheme, weights, activations)) return std::string(scheme.name);
    if (!HasWidths(scheme, WeightBits(scheme), ActivationBits(scheme))) continue;
    const std::string pair = fmt::format("{} and {}", WeightBits(scheme), ActivationBits(scheme));
    if (known.find(pair) == std::string::npos) known += (known.empty() ? "" : ", ") + pair;
  }
  return InvalidInput("no scheme has {}-bit weights and {}-bit activations", weights, activations)
      .At("{}", where)
      .Want("one of: {}", known);
}

}  // namespace hexlane
