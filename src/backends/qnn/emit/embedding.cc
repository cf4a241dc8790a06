// Embedding as a Gather of rows of the table, which is held in the output's own encoding: the same
// bits that a lookup on the CPU gives.
#include "backends/qnn/driver/values.h"
#include "backends/qnn/emit/ops.h"
#include "kernels/pack/pack.h"

namespace hexlane::qnn {
namespace {

// [vocab, dim] in `spec`, a row at a time: the whole in floats would be twice the size.
std::vector<std::byte> EncodedTable(const Value& table, const TensorSpec& spec) {
  const TensorView& view = table.constant->view();
  std::vector<std::byte> bytes(spec.bytes());
  std::vector<float> row(static_cast<size_t>(table.shape[1]));
  const size_t row_bytes = row.size() * ElementBytes(spec.type);
  const size_t stored_bytes = view.bytes.size() / static_cast<size_t>(table.shape[0]);
  for (int64_t i = 0; i < table.shape[0]; ++i) {
    const size_t at = static_cast<size_t>(i);
    if (view.scheme == Scheme::kPlain)
      hexlane::DecodeValues(view.bytes.subspan(at * stored_bytes, stored_bytes),
                            {.dtype = view.dtype}, row);
    else
      DequantizeRows(view, i, 1, row.data());
    EncodeValues(spec, row, std::span(bytes).subspan(at * row_bytes, row_bytes));
  }
  return bytes;
}

}  // namespace

Reason RefuseEmbedding(const Graph& unit, const Node& node, const Target&) {
  if (!unit.value(node.inputs[1]).constant) return "its table is not a constant";
  return std::nullopt;
}

Result<void> LowerEmbedding(Lowering& lowering, const Node& node) {
  const std::string& name = lowering.unit().NameOf(node);
  const Value& table = lowering.unit().value(node.inputs[1]);
  const Ref ids = TRY(lowering.AddInput({DataType::kI32, {1, lowering.rows()}, {}}, "input_ids",
                                        {Role::kIds, 0, "", {}}));
  const TensorSpec spec = lowering.ComputeSpec(node.outputs[0], table.shape);
  const Ref rows = TRY(lowering.builder().Constant(table.name, spec, EncodedTable(table, spec)));
  const Shape shape = {1, lowering.rows(), table.shape[1]};
  return lowering.SetValue(
      node.outputs[0],
      TRY(lowering.builder().Add({.type = "Gather",
                                  .name = name,
                                  .inputs = {rows, ids},
                                  .params = {{"axis", int32_t{0}}},
                                  .out = lowering.ComputeSpec(node.outputs[0], shape)})));
}

}  // namespace hexlane::qnn
