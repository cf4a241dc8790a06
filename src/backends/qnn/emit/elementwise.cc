#include "backends/qnn/emit/ops.h"

namespace hexlane::qnn {

Result<void> LowerElementwise(Lowering& lowering, const Node& node) {
  const ValueId out = node.outputs[0];
  const std::string& name = lowering.unit().NameOf(node);
  const Shape shape = lowering.RowsShape(lowering.unit().value(out).shape.last());
  const bool in_float = lowering.computes_in_float(node);
  const TensorSpec f16 = {DataType::kF16, shape, {}};
  std::vector<Ref> operands;
  for (const ValueId id : node.inputs)
    operands.push_back(TRY(in_float ? lowering.FloatRows(id) : lowering.WideRows(id)));
  if (node.op == OpKind::kSilu) {  // x · sigmoid(x): HTP has no SiLU
    const TensorSpec unit_range = {DataType::kUFixed16, shape, PerTensor{1.0f / 65535, 0}};
    operands.push_back(TRY(lowering.builder().Add({.type = "Sigmoid",
                                                   .name = name + ".sigmoid",
                                                   .inputs = {operands[0]},
                                                   .out = in_float ? f16 : unit_range})));
  }
  const Ref y = TRY(lowering.builder().Add(
      {.type = node.op == OpKind::kAdd ? "ElementWiseAdd" : "ElementWiseMultiply",
       .name = name,
       .inputs = operands,
       .out = in_float ? f16 : lowering.ComputeSpec(out, shape)}));
  return lowering.SetValue(out, y);
}

}  // namespace hexlane::qnn
