#include "backends/qnn/emit/ops.h"

namespace hexlane::qnn {
namespace {

Reason RefuseNothing(const Graph&, const Node&, const Target&) { return std::nullopt; }

constexpr Rule kRules[] = {
    {OpKind::kEmbedding, RefuseEmbedding, LowerEmbedding},
    {OpKind::kLinear, RefuseLinear, LowerLinear},
    {OpKind::kRmsNorm, RefuseRmsNorm, LowerRmsNorm},
    {OpKind::kRope, RefuseRope, LowerRope},
    {OpKind::kAttention, RefuseAttention, LowerAttention},
    {OpKind::kAdd, RefuseNothing, LowerElementwise},
    {OpKind::kMul, RefuseNothing, LowerElementwise},
    {OpKind::kSilu, RefuseNothing, LowerElementwise},
};

}  // namespace

const Rule* FindRule(OpKind op) {
  for (const Rule& rule : kRules)
    if (rule.op == op) return &rule;
  return nullptr;
}

bool IsFloat(const Value& value) { return !value.encoding || !value.encoding->is_integer(); }

Reason RefuseMixed(const Graph& unit, const Node& node) {
  const bool is_float = IsFloat(unit.value(node.outputs[0]));
  for (const ValueId id : node.inputs) {
    const Value& input = unit.value(id);
    if (input.dtype != DType::kF32 || input.constant) continue;
    if (IsFloat(input) != is_float)
      return fmt::format("mixes f16 and fixed-point values ('{}')", input.name);
  }
  return std::nullopt;
}

}  // namespace hexlane::qnn
