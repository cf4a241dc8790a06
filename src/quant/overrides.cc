#include "quant/overrides.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "base/json.h"
#include "quant/aimet.h"
#include "quant/matrix_scheme.h"
#include "quant/override_rules.h"
#include "quant/schemes.h"

namespace hexlane {
namespace {

// Edits (a character put in, left out or changed) between two names.
size_t Distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0]++;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t above = row[j + 1];
      row[j + 1] = std::min({above + 1, row[j] + 1, diagonal + (a[i] != b[j])});
      diagonal = above;
    }
  }
  return row.back();
}

// The names nearest to `pattern`, one for each tensor, three at most.
std::vector<std::string> NamesLike(std::string_view pattern,
                                   const OverridableTensors::Names& names) {
  std::vector<std::pair<size_t, std::string>> found;
  for (const auto& [tensor, all] : names) {
    const auto nearest = std::ranges::min_element(
        all, {}, [&](const std::string& name) { return Distance(pattern, name); });
    found.emplace_back(Distance(pattern, *nearest), *nearest);
  }
  std::ranges::stable_sort(found, {}, &std::pair<size_t, std::string>::first);
  std::vector<std::string> nearest;
  for (const auto& [distance, name] : found)
    if (nearest.size() < 3) nearest.push_back(name);
  return nearest;
}

Failure MatchesNothing(const OverrideRule& rule, std::string_view what,
                       const OverridableTensors::Names& names) {
  return InvalidInput("'{}' is the name of no {} of the model", rule.pattern, what)
      .At("{}", rule.gives.rule)
      .Want("a name or a pattern such as {}", fmt::join(NamesLike(rule.pattern, names), ", "));
}

void AddNames(const std::string& tensor, std::initializer_list<std::string> names,
              OverridableTensors::Names& all) {
  all[tensor].insert(tensor);
  all[tensor].insert(names);
}

std::string Stem(const std::string& weight) {
  constexpr std::string_view kSuffix = ".weight";
  return weight.ends_with(kSuffix) ? weight.substr(0, weight.size() - kSuffix.size()) : weight;
}

}  // namespace

void TensorOverride::Add(const TensorOverride& other) {
  if (other.weights) weights = other.weights;
  if (other.algorithm) algorithm = other.algorithm;
  if (other.activations) activations = other.activations;
  if (other.range) range = other.range;
  rule = other.rule;
}

bool MatchesPattern(std::string_view pattern, std::string_view name) {
  size_t p = 0, n = 0, star = std::string_view::npos, resume = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;  // matches nothing for now, one more character at each failure
      resume = n;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[n])) {
      ++p, ++n;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++resume;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

namespace {

// What a matrix of the vocabulary goes by besides its name: by what it does, for a tied one does
// both.
std::string RoleName(const Graph& unit, const Node& node) {
  if (node.op == OpKind::kEmbedding) return "embed";
  return IsVocabulary(unit, node) ? "lm_head" : "";
}

void AddMatrix(const Graph& unit, const Node& node, bool splits_head, OverridableTensors& all) {
  const std::string role = RoleName(unit, node);
  const std::string weight = MatrixNameOf(unit, node, splits_head);
  const std::string name = role.empty() ? Stem(weight) : role;
  AddNames(weight, {Stem(weight), name}, all.matrices);
  all.shapes.emplace(weight, unit.value(node.inputs[1]).shape);
  AddNames(unit.NameOf(node), {name}, all.values);
}

}  // namespace

void OverridableTensors::AddUnit(const Graph& unit, bool splits_head) {
  for (const Node& node : unit.nodes()) {
    if (HasMatrix(node) && unit.value(node.inputs[1]).constant)
      AddMatrix(unit, node, splits_head, *this);
    for (const ValueId id : node.outputs)
      if (unit.value(id).dtype == DType::kF32) AddNames(unit.value(id).name, {}, values);
  }
  for (const Value& value : unit.values())
    if (value.constant && value.shape.rank() < 2) vectors.insert(value.name);
}

namespace {

using Map = std::map<std::string, TensorOverride, std::less<>>;

bool IsAbout(const OverrideRule& rule, const std::set<std::string>& names) {
  return std::ranges::any_of(
      names, [&](const std::string& name) { return MatchesPattern(rule.pattern, name); });
}

// Whether there is a tensor that the rule is about.
bool Apply(const OverrideRule& rule, const TensorOverride& gives,
           const OverridableTensors::Names& names, Map& to) {
  bool found = false;
  for (const auto& [tensor, all] : names) {
    if (!IsAbout(rule, all)) continue;
    to[tensor].Add(gives);
    found = true;
  }
  return found;
}

Result<void> CheckCount(const OverrideRule& rule, const std::string& matrix, const Shape& shape) {
  const MatrixScales& scales = *rule.scales;
  if (scales.block > 0 && shape[1] % scales.block != 0) {
    return InvalidInput("the blocks of '{}' do not divide its columns", matrix)
        .At("{}", rule.gives.rule)
        .Want("a block_size that divides {}", shape[1])
        .Got("{}", scales.block);
  }
  const int64_t want = shape[0] * (scales.per_block ? shape[1] / scales.block : 1);
  if (scales.count == want || (scales.count == 1 && !scales.per_block)) return {};
  return InvalidInput("the scales of '{}' are not those of a matrix {}", matrix, shape)
      .At("{}", rule.gives.rule)
      .Want("{}{}", scales.per_block ? "" : "1 or ", want)
      .Got("{}", scales.count)
      .Remedy("Give the encodings of this model");
}

Result<void> CheckScales(const OverrideRule& rule, const OverridableTensors& tensors) {
  if (!rule.scales) return {};
  for (const auto& [matrix, names] : tensors.matrices)
    if (IsAbout(rule, names)) TRY(CheckCount(rule, matrix, tensors.shapes.at(matrix)));
  return {};
}

}  // namespace

Result<Overrides> Overrides::Settle(const OverrideFile& file, const OverridableTensors& tensors) {
  Overrides overrides;
  for (const OverrideRule& rule : file.rules) {
    const TensorOverride& gives = rule.gives;
    if (gives.for_matrices()) {
      const TensorOverride of_matrix{
          .weights = gives.weights, .algorithm = gives.algorithm, .rule = gives.rule};
      const bool found = Apply(rule, of_matrix, tensors.matrices, overrides.matrices_);
      const bool skipped = rule.allows_vectors && tensors.vectors.contains(rule.pattern);
      if (!found && !skipped) return MatchesNothing(rule, "matrix", tensors.matrices);
      TRY(CheckScales(rule, tensors));
    }
    if (gives.for_values()) {
      const TensorOverride of_value{
          .activations = gives.activations, .range = gives.range, .rule = gives.rule};
      if (!Apply(rule, of_value, tensors.values, overrides.values_))
        return MatchesNothing(rule, "value", tensors.values);
    }
  }
  return overrides;
}

const TensorOverride* Overrides::Find(const ByName& all, std::string_view name) {
  const auto found = all.find(name);
  return found == all.end() ? nullptr : &found->second;
}

bool Overrides::needs_calibration() const {
  return std::ranges::any_of(values_, [](const auto& entry) {
    const TensorOverride& value = entry.second;
    return value.activations && *value.activations != DType::kF16 && !value.range;
  });
}

std::string_view WeightsName(Scheme scheme) {
  return scheme == Scheme::kPlain ? "f16" : Info(scheme).name;
}

namespace {

Json ToJson(const TensorOverride& tensor) {
  Json json = Json::object();
  if (tensor.weights) json["weights"] = WeightsName(*tensor.weights);
  if (tensor.algorithm) json["algorithm"] = *tensor.algorithm ? "on" : "off";
  if (tensor.activations) json["activations"] = DTypeName(*tensor.activations);
  if (tensor.range) json["min"] = tensor.range->min, json["max"] = tensor.range->max;
  return json;
}

}  // namespace

Json ToJson(const Overrides& overrides) {
  Json json = {{"matrices", Json::object()}, {"values", Json::object()}};
  for (const auto& [name, tensor] : overrides.matrices_) json["matrices"][name] = ToJson(tensor);
  for (const auto& [name, tensor] : overrides.values_) json["values"][name] = ToJson(tensor);
  return json;
}

namespace {

Result<void> CheckScheme(std::string_view name, std::string_view where) {
  Result<const QuantScheme*> found = FindQuantScheme(name);
  if (found) return {};
  found.error().where = where;
  return Failure(std::move(found).error());
}

bool HasWidths(const Json& json) {
  return json.contains("weight_width") || json.contains("activation_width");
}

bool HasRules(const Json& json) { return json.contains("rules") || json.contains("quant"); }

Result<void> CheckIsOfOneForm(const Json& json, std::string_view where) {
  if (!json.is_object())
    return Corrupt("overrides are no object").At("{}", where).Want("an object with 'rules'");
  if (IsAimet(json) + HasWidths(json) + HasRules(json) < 2) return {};
  return InvalidInput("overrides of two forms in one file")
      .At("{}", where)
      .Want("either 'rules' (with 'quant'), 'weight_width' and 'activation_width', or encodings")
      .Remedy("Name the scheme by 'quant' beside the rules, not by widths");
}

}  // namespace

Result<OverrideFile> ParseOverrides(std::string_view text, std::string_view where) {
  const Json json = TRY(ParseJson(text, where));
  TRY(CheckIsOfOneForm(json, where));
  OverrideFile file{.where = std::string(where), .scheme = {}, .rules = {}};
  if (IsAimet(json)) {
    file.rules = TRY(ReadAimet(json, where));
  } else if (HasWidths(json)) {
    file.scheme = TRY(SchemeOfWidths(json, where));
  } else {
    TRY(CheckFields(json, "a file of rules", std::to_array<std::string_view>({"quant", "rules"}),
                    where));
    file.scheme = TRY(JsonFieldOr<std::string>(json, "quant", "", where));
    if (!file.scheme.empty()) TRY(CheckScheme(file.scheme, where));
    file.rules = TRY(ReadRules(json, where));
  }
  return file;
}

}  // namespace hexlane
