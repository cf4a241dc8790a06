// RmsNorm is an op of the HTP. Over chunks (the per-head norm of some models) the rows are cut into
// chunks first.
#include <algorithm>
#include <cmath>

#include "backends/qnn/driver/values.h"
#include "backends/qnn/emit/ops.h"
#include "backends/qnn/emit/weights.h"

namespace hexlane::qnn {
namespace {

// 16 bits over the values' own range, zero included.
TensorSpec FittedU16(std::span<const float> values) {
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  const float min = std::min(*low, 0.0f), max = std::max(*high, 0.0f);
  const float scale = std::max((max - min) / 65535, 1e-12f);
  const auto offset = static_cast<int32_t>(std::lround(min / scale));
  return {DataType::kUFixed16, {static_cast<int64_t>(values.size())}, PerTensor{scale, offset}};
}

}  // namespace

Reason RefuseRmsNorm(const Graph& unit, const Node& node, const Target&) {
  const Value& weight = unit.value(node.inputs[1]);
  if (!weight.constant) return "its weight is not a constant";
  return std::nullopt;
}

Result<void> LowerRmsNorm(Lowering& lowering, const Node& node) {
  const ValueId out = node.outputs[0];
  const std::string& name = lowering.unit().NameOf(node);
  const Value& weight = lowering.unit().value(node.inputs[1]);
  const std::vector<float> gamma = ConstantFloats(weight);
  const bool in_float = lowering.computes_in_float(node);
  const TensorSpec gamma_spec =
      in_float ? TensorSpec{DataType::kF16, weight.shape, {}} : FittedU16(gamma);
  const Ref gamma_ref =
      TRY(lowering.builder().Constant(name + ".weight", gamma_spec, Encoded(gamma_spec, gamma)));
  const int64_t dim = lowering.unit().value(out).shape.last(), chunk = weight.shape[0];
  const Shape shape = {1, 1, lowering.rows() * dim / chunk, chunk};
  const ValueId in = node.inputs[0];
  const Ref rows = TRY(in_float ? lowering.FloatRows(in) : lowering.WideRows(in));
  const Ref x = TRY(lowering.Reshape(rows, shape, name + ".chunks"));
  const Ref y =
      TRY(lowering.builder().Add({.type = "RmsNorm",
                                  .name = name,
                                  .inputs = {x, gamma_ref},
                                  .params = {{"axes", IntArray{DataType::kU32, {1}, {3}}},
                                             {"epsilon", std::get<RmsNormAttrs>(node.attrs).eps}},
                                  .out = in_float ? TensorSpec{DataType::kF16, shape, {}}
                                                  : lowering.ComputeSpec(out, shape)}));
  return lowering.SetValue(out, y);
}

}  // namespace hexlane::qnn
