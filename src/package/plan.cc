#include "package/plan.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "package/fields.h"

namespace hexlane {
namespace {

// Far above every real model, low enough that products of two fit int64 and sums fit int.
constexpr IntRange kLayers{1, 4096};
constexpr IntRange kHidden{1, 1 << 20};
constexpr IntRange kVocab{1, 1 << 24};
constexpr IntRange kHeads{1, 1 << 14};
constexpr IntRange kPositions{1, 1 << 24};
constexpr IntRange kSpillFill{0, int64_t{1} << 40};
constexpr size_t kMaxEosIds = 1024;
constexpr size_t kMaxVariants = 256;
constexpr size_t kMaxFiles = 1024;

// Units of a decoder: the embedding, each layer, the head.
int Units(const ModelShape& model) { return model.layers + 2; }

Json ToJson(const ModelShape& model) {
  return {{"layers", model.layers},        {"hidden", model.hidden},
          {"vocab", model.vocab},          {"kv_heads", model.kv_heads},
          {"head_dim", model.head_dim},    {"max_context", model.max_context},
          {"eos_token_ids", model.eos_ids}};
}

Json ToJson(const Part& part) {
  Json json = {{"backend", part.backend},       {"first_unit", part.first_unit},
               {"unit_count", part.unit_count}, {"input", part.input},
               {"output", part.output},         {"files", part.files},
               {"contract", part.contract}};
  if (part.spill_fill_bytes) json["spill_fill_bytes"] = *part.spill_fill_bytes;
  return json;
}

Json ToJson(const Variant& variant) {
  Json stages = Json::array();
  for (const StageShape& stage : variant.stages)
    stages.push_back({{"rows", stage.rows}, {"context", stage.context}});
  Json parts = Json::array();
  for (const Part& part : variant.parts) parts.push_back(ToJson(part));
  return {{"name", variant.name}, {"soc", variant.soc}, {"stages", stages}, {"parts", parts}};
}

Result<std::vector<int32_t>> EosIdsFromJson(const Json& json, int vocab, std::string_view where) {
  std::vector<int32_t> ids;
  for (const Json& id : *TRY(ListField(json, "eos_token_ids", kMaxEosIds, where))) {
    const auto value = internal::JsonAs<int64_t>(id);
    if (!value || *value < 0 || *value >= vocab)
      return internal::FieldFailure(&id, "eos_token_ids", where, "ids of the vocabulary");
    ids.push_back(static_cast<int32_t>(*value));
  }
  return ids;
}

Result<ModelShape> ModelFromJson(const Json& json, const std::string& where) {
  ModelShape model;
  model.layers = TRY(IntField(json, "layers", kLayers, where));
  model.hidden = TRY(IntField(json, "hidden", kHidden, where));
  model.vocab = TRY(IntField(json, "vocab", kVocab, where));
  model.kv_heads = TRY(IntField(json, "kv_heads", kHeads, where));
  model.head_dim = TRY(IntField(json, "head_dim", kHeads, where));
  model.max_context = TRY(IntField(json, "max_context", kPositions, where));
  model.eos_ids = TRY(EosIdsFromJson(json, model.vocab, where));
  return model;
}

Result<std::vector<StageShape>> StagesFromJson(const Json& json, const std::string& where) {
  const Json& list = *TRY(ListField(json, "stages", kMaxStages, where));
  if (list.empty()) return Corrupt("no stages").At("{}", where);
  std::vector<StageShape> stages;
  for (const Json& entry : list) {
    StageShape stage;
    stage.context = TRY(IntField(entry, "context", kPositions, where + ".stages"));
    stage.rows = TRY(IntField(entry, "rows", {1, stage.context}, where + ".stages"));
    if (!stages.empty() &&
        std::tie(stages.back().rows, stages.back().context) >= std::tie(stage.rows, stage.context))
      return Corrupt("stages are not in ascending order").At("{}", where);
    stages.push_back(stage);
  }
  return stages;
}

Result<std::vector<std::string>> FilesFromJson(const Json& json, const std::string& where) {
  std::vector<std::string> files;
  for (const Json& file : *TRY(ListField(json, "files", kMaxFiles, where))) {
    const auto name = internal::JsonAs<std::string>(file);
    if (!name) return internal::FieldFailure(&file, "files", where, "file names");
    TRY(CheckPackageFileName(*name, where + ".files"));
    files.push_back(*name);
  }
  return files;
}

Result<Part> PartFromJson(const Json& json, int units, const std::string& where) {
  Part part;
  part.backend = TRY(TextField(json, "backend", where));
  part.first_unit = TRY(IntField(json, "first_unit", {0, units - 1}, where));
  part.unit_count = TRY(IntField(json, "unit_count", {1, units - part.first_unit}, where));
  part.input = TRY(TextField(json, "input", where));
  part.output = TRY(TextField(json, "output", where));
  part.files = TRY(FilesFromJson(json, where));
  part.contract = TRY(JsonFieldOr<std::string>(json, "contract", "", where));
  if (!part.contract.empty()) TRY(CheckPackageFileName(part.contract, where + ".contract"));
  if (json.contains("spill_fill_bytes"))
    part.spill_fill_bytes = TRY(IntField(json, "spill_fill_bytes", kSpillFill, where));
  return part;
}

// Part `i` must go on where the one before it ended.
Result<void> CheckFollows(const std::vector<Part>& parts, const Part& part,
                          const std::string& where) {
  const int unit = parts.empty() ? 0 : parts.back().first_unit + parts.back().unit_count;
  if (part.first_unit != unit) {
    return Corrupt("parts are not consecutive")
        .At("{}.first_unit", where)
        .Want("{}", unit)
        .Got("{}", part.first_unit);
  }
  const std::string& input = parts.empty() ? "ids" : parts.back().output;
  if (part.input != input) {
    return Corrupt("a part's input is not the output before it")
        .At("{}.input", where)
        .Want("'{}'", input)
        .Got("'{}'", part.input);
  }
  return {};
}

Result<std::vector<Part>> PartsFromJson(const Json& json, int units, const std::string& where) {
  std::vector<Part> parts;
  for (const Json& entry : *TRY(ListField(json, "parts", units, where))) {
    const std::string part_where = fmt::format("{}.parts[{}]", where, parts.size());
    Part part = TRY(PartFromJson(entry, units, part_where));
    TRY(CheckFollows(parts, part, part_where));
    parts.push_back(std::move(part));
  }
  const int covered = parts.empty() ? 0 : parts.back().first_unit + parts.back().unit_count;
  if (covered != units) {
    return Corrupt("the parts do not cover the model")
        .At("{}.parts", where)
        .Want("{} units (embedding, layers, head)", units)
        .Got("{}", covered);
  }
  if (parts.back().output != "logits") {
    return Corrupt("the last part does not end in the logits")
        .At("{}.parts", where)
        .Want("output 'logits'")
        .Got("'{}'", parts.back().output);
  }
  return parts;
}

Result<Variant> VariantFromJson(const Json& json, const ModelShape& model,
                                const std::string& where) {
  Variant variant;
  variant.name = TRY(TextField(json, "name", where));
  variant.soc = TRY(JsonFieldOr<std::string>(json, "soc", "", where));
  variant.stages = TRY(StagesFromJson(json, where));
  variant.parts = TRY(PartsFromJson(json, Units(model), where));
  return variant;
}

}  // namespace

std::string StageShape::name() const { return fmt::format("r{}c{}", rows, context); }

const Variant* Plan::Find(std::string_view name) const {
  const auto it = std::ranges::find(variants, name, &Variant::name);
  return it == variants.end() ? nullptr : &*it;
}

Json ToJson(const Plan& plan) {
  Json variants = Json::array();
  for (const Variant& variant : plan.variants) variants.push_back(ToJson(variant));
  return {{"model", ToJson(plan.model)}, {"variants", variants}};
}

Result<Plan> PlanFromJson(const Json& json, std::string_view where) {
  Plan plan;
  plan.model = TRY(ModelFromJson(*TRY(JsonObject(json, "model", where)),  //
                                 fmt::format("{}.model", where)));
  std::set<std::string> names;
  for (const Json& entry : *TRY(ListField(json, "variants", kMaxVariants, where))) {
    const std::string variant_where = fmt::format("{}.variants[{}]", where, plan.variants.size());
    Variant variant = TRY(VariantFromJson(entry, plan.model, variant_where));
    if (!names.insert(variant.name).second)
      return Corrupt("variant '{}' appears twice", variant.name).At("{}", variant_where);
    plan.variants.push_back(std::move(variant));
  }
  return plan;
}

}  // namespace hexlane
