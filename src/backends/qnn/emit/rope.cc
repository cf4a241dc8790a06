// Rope as y = x · [cos cos] + [x₂ x₁] · [-sin sin] on every head, x₁ and x₂ its halves
// (rotate-half).
#include <cmath>

#include "backends/qnn/driver/values.h"
#include "backends/qnn/emit/ops.h"

namespace hexlane::qnn {
namespace {

// Encoding of x · cos and of rotated x · sin: the range of x, made symmetric, times the tables'
// scale.
TensorSpec ProductSpec(const TensorSpec& x, float table_scale) {
  const auto* quant = std::get_if<PerTensor>(&x.quant);
  if (!quant) return x;
  const int64_t top = x.type == DataType::kUFixed8 ? 255 : 65535;
  const float low = static_cast<float>(quant->offset) * quant->scale;
  const float high = static_cast<float>(top + quant->offset) * quant->scale;
  const float range = std::max(std::abs(low), std::abs(high)) * table_scale;
  return {DataType::kUFixed16, x.shape, PerTensor{range / 32767, -32768}};
}

// Columns [begin, end) of the last dimension.
Result<Ref> Columns(Lowering& lowering, Ref x, int64_t begin, int64_t end, std::string name) {
  TensorSpec out = lowering.builder().spec(x);
  IntArray ranges{DataType::kI32, {4, 3}, {}};
  for (int i = 0; i < 4; ++i) {
    const bool last = i == 3;
    ranges.values.push_back(last ? static_cast<int32_t>(begin) : 0);
    ranges.values.push_back(static_cast<int32_t>(last ? end : out.shape[i]));
    ranges.values.push_back(1);
  }
  out.shape[3] = end - begin;
  return lowering.builder().Add({.type = "StridedSlice",
                                 .name = std::move(name),
                                 .inputs = {x},
                                 .params = {{"ranges", std::move(ranges)}},
                                 .out = out});
}

// [x₁ x₂] => [x₂ x₁]
Result<Ref> SwapHalves(Lowering& lowering, Ref x, const std::string& name) {
  const TensorSpec spec = lowering.builder().spec(x);
  const int64_t half = spec.shape[3] / 2;
  const Ref first = TRY(Columns(lowering, x, 0, half, name + ".x1"));
  const Ref second = TRY(Columns(lowering, x, half, 2 * half, name + ".x2"));
  return lowering.builder().Add({.type = "Concat",
                                 .name = name + ".swapped",
                                 .inputs = {second, first},
                                 .params = {{"axis", 3u}},
                                 .out = spec});
}

}  // namespace

Reason RefuseRope(const Graph& unit, const Node& node, const Target&) {
  const auto& attrs = std::get<RopeAttrs>(node.attrs);
  const Value& inv_freq = unit.value(node.inputs[2]);
  if (!inv_freq.constant) return "its frequencies are not constant";
  if (inv_freq.shape[0] * 2 != attrs.head_dim)
    return fmt::format("rotates {} of {} dimensions; only whole heads are supported",
                       2 * inv_freq.shape[0], attrs.head_dim);
  return RefuseMixed(unit, node);
}

// Leaves the heads apart, [1, heads, rows, head_dim], for attention; the value itself is only made
// when tapped.
Result<void> LowerRope(Lowering& lowering, const Node& node) {
  const ValueId out = node.outputs[0];
  const auto& attrs = std::get<RopeAttrs>(node.attrs);
  const std::string& name = lowering.unit().NameOf(node);
  const ValueId in = node.inputs[0];
  const Ref heads = TRY(lowering.Widen(in, TRY(lowering.SplitHeads(in, attrs.head_dim))));
  const Lowering::RopeInputs tables = TRY(lowering.RopeTables(lowering.unit().value(node.inputs[2]),
                                                              attrs.scale, lowering.is_float(out)));
  const TensorSpec x = lowering.builder().spec(heads);
  const TensorSpec product = ProductSpec(x, attrs.scale);
  const Ref swapped = TRY(SwapHalves(lowering, heads, name));
  const auto times = [&](Ref a, Ref table, const char* what) {
    return lowering.builder().Add(
        {.type = "ElementWiseMultiply", .name = name + what, .inputs = {a, table}, .out = product});
  };
  const Ref straight = TRY(times(heads, tables.cos, ".cos"));
  const Ref crossed = TRY(times(swapped, tables.sin, ".sin"));
  const Ref y = TRY(lowering.builder().Add({.type = "ElementWiseAdd",
                                            .name = name,
                                            .inputs = {straight, crossed},
                                            .out = lowering.ComputeSpec(out, x.shape)}));
  return lowering.SetHeads(out, y);
}

}  // namespace hexlane::qnn
