#include "compiler/overrides.h"

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "backends/emitters.h"
#include "base/file.h"
#include "compiler/weight_forms.h"
#include "quant/matrix_scheme.h"
#include "quant/quantize_unit.h"

namespace hexlane {
namespace {

std::string InLayer(std::string_view pattern, int64_t layer) {
  std::string name(pattern);
  const size_t at = name.find("{}");
  if (at != std::string::npos) name.replace(at, 2, std::to_string(layer));
  return name;
}

// What formats call our weights.
void AddFormatNames(const Decoder& decoder, OverridableTensors& tensors) {
  for (const TensorName& tensor : decoder.architecture().tensors) {
    for (int64_t layer = 0; layer < decoder.config().layers; ++layer) {
      const auto found = tensors.matrices.find(InLayer(tensor.name, layer));
      for (const std::string_view name : {tensor.hugging_face, tensor.gguf}) {
        if (found != tensors.matrices.end()) found->second.insert(InLayer(name, layer));
        if (tensors.vectors.contains(InLayer(tensor.name, layer)))
          tensors.vectors.insert(InLayer(name, layer));
      }
    }
  }
}

}  // namespace

Result<OverridableTensors> TensorsOf(const Decoder& decoder, const Algorithm& algorithm) {
  OverridableTensors tensors;
  for (int unit = 0; unit < decoder.unit_count(); ++unit)
    tensors.AddUnit(TRY(decoder.Build(unit)), algorithm.rotate);
  AddFormatNames(decoder, tensors);
  return tensors;
}

Result<OverrideFile> ReadOverrides(const std::filesystem::path& file) {
  return ParseOverrides(TRY(ReadTextFile(file)), file.string());
}

Result<std::string> SchemeOf(const std::string& given, const OverrideFile& file) {
  if (given.empty()) return file.scheme;
  if (file.scheme.empty() || file.scheme == given) return given;
  return Usage("--quant {}, but the overrides are for {}", given, file.scheme)
      .At("{}", file.where)
      .Remedy("Leave --quant out");
}

namespace {

// What of a sketched unit cannot be as the overrides have it.
class Checker {
 public:
  Checker(const Decoder& decoder, const QuantOptions& options, const Target* target)
      : decoder_(decoder), options_(options), target_(target) {}

  Result<void> Run() {
    if (target_) emitter_ = TRY(NewEmitter("qnn"));
    for (int unit = 0; unit < decoder_.unit_count(); ++unit) {
      Graph built = TRY(decoder_.Build(unit));
      if (!Concerns(built)) continue;
      Graph sketch = built;
      TRY(SketchUnit(sketch, options_));
      TRY(CheckRanges(sketch));
      if (target_) TRY(CheckNodes(built, sketch));
    }
    return {};
  }

 private:
  bool Concerns(const Graph& unit) const {
    return std::ranges::any_of(unit.nodes(),
                               [&](const Node& node) { return RuleOf(unit, node) != nullptr; });
  }

  Result<void> CheckRanges(const Graph& sketch) const {
    for (const Value& value : sketch.values()) {
      const TensorOverride* by = options_.overrides.OfValue(value.name);
      if (!by || !by->range || value.encoding->is_integer()) continue;
      return InvalidInput("the range of '{}' has no use: it is float16", value.name)
          .At("{}", by->rule)
          .Remedy(R"(Leave min and max out, or add "activations": "u16")");
    }
    return {};
  }

  // An embedding is always looked up by the CPU.
  Result<void> CheckNodes(const Graph& built, const Graph& sketch) const {
    for (const Node& node : sketch.nodes()) {
      if (node.op == OpKind::kEmbedding) continue;
      const TensorOverride* by = RuleOf(sketch, node);
      const auto reason = emitter_->Refuses(sketch, node, target_);
      if (!reason || !by) continue;
      return InvalidInput("{}'s NPU cannot run {}: {}", target_->name, sketch.NameOf(node), *reason)
          .At("{}", by->rule)
          .Remedy("{}", Nearest(built, node));
    }
    return {};
  }

  // The rule that changes what the node takes or gives.
  const TensorOverride* RuleOf(const Graph& unit, const Node& node) const {
    if (HasMatrix(node))
      if (const TensorOverride* by = OverrideOf(unit, node, options_)) return by;
    for (const std::span<const ValueId> ids : {std::span(node.inputs), std::span(node.outputs)})
      for (const ValueId id : ids)
        if (const auto* by = options_.overrides.OfValue(unit.value(id).name)) return by;
    return nullptr;
  }

  bool Takes(const Graph& built, const Node& node, const QuantOptions& options) const {
    Graph sketch = built;
    return SketchUnit(sketch, options) && !emitter_->Refuses(sketch, node, target_);
  }

  // The change that makes the node run: its output in float16, or weights of another form.
  std::string Nearest(const Graph& built, const Node& node) const {
    QuantOptions changed = options_;
    changed.overrides.SetActivations(built.NameOf(node), DType::kF16);
    if (Takes(built, node, changed))
      return fmt::format(R"(Add "activations": "f16" for '{}')", built.NameOf(node));
    const TensorOverride* by = HasMatrix(node) ? OverrideOf(built, node, options_) : nullptr;
    if (!by || !by->weights) return "Leave its values to the scheme";
    const std::string weight = MatrixNameOf(built, node, options_.algorithm.rotate);
    for (const Scheme scheme : ByLikeness(*by->weights)) {
      changed = options_;
      changed.overrides.SetWeights(weight, scheme);
      if (Takes(built, node, changed))
        return fmt::format(R"(Use "weights": "{}")", WeightsName(scheme));
    }
    return "Leave its weights to the scheme";
  }

  // Other forms, the nearest in bits first.
  static std::vector<Scheme> ByLikeness(Scheme to) {
    const auto bits = [](Scheme scheme) {
      return scheme == Scheme::kPlain ? 16 : Info(scheme).bits;
    };
    std::vector<Scheme> schemes = AllForms();
    std::erase(schemes, to);
    std::ranges::stable_sort(schemes, {},
                             [&](Scheme scheme) { return std::abs(bits(scheme) - bits(to)); });
    return schemes;
  }

  const Decoder& decoder_;
  const QuantOptions& options_;
  const Target* target_;  // null: only what needs none is checked
  std::unique_ptr<Emitter> emitter_;
};

}  // namespace

Result<void> SettleOverrides(const OverrideFile& file, const Decoder& decoder,
                             std::span<const Target* const> targets, QuantOptions& options) {
  if (file.rules.empty()) return {};
  const OverridableTensors tensors = TRY(TensorsOf(decoder, options.algorithm));
  options.overrides = TRY(Overrides::Settle(file, tensors));
  TRY(Checker(decoder, options, nullptr).Run());
  for (const Target* target : targets) TRY(Checker(decoder, options, target).Run());
  return {};
}

}  // namespace hexlane
