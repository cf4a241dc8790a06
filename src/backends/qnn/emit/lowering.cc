#include "backends/qnn/emit/lowering.h"

#include <algorithm>
#include <charconv>

#include "backends/qnn/driver/values.h"
#include "backends/qnn/emit/ops.h"
#include "op/dims.h"

namespace hexlane::qnn {
namespace {

constexpr std::string_view kLogits = "logits";

// 16 bits over the range of an 8-bit encoding: its grid contains the coarse one.
Encoding Widened(const Encoding& encoding) {
  if (encoding.dtype == DType::kU8)
    return {.dtype = DType::kU16, .scale = encoding.scale / 256, .offset = encoding.offset * 256};
  return encoding;
}

// Hidden states go by their IR names, so that what leaves a part and what enters the next one are
// called the same; dots become underscores, unlike in the graph's inner names.
std::string HiddenName(std::string name) {
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
}

TensorSpec SpecOfValue(const Value& value, Shape shape) {
  if (IsFloat(value)) return {DataType::kF16, shape, {}};
  return SpecOf(*value.encoding, shape);
}

}  // namespace

Lowering::Lowering(GraphBuilder& builder, const StageOptions& options, Contract& contract,
                   GraphContract& graph)
    : builder_(builder),
      options_(options),
      contract_(contract),
      graph_(graph),
      rows_(options.shape.rows) {}

Result<void> Lowering::AddUnit(const Graph& unit) {
  unit_ = &unit;
  rows_of_.assign(unit.values().size(), Ref{});
  heads_of_.assign(unit.values().size(), Ref{});
  block_sums_.clear();
  widened_.clear();
  for (const ValueId id : unit.inputs()) {
    const Value& value = unit.value(id);
    if (value.dtype == DType::kF32 && !IsPast(value.shape)) TRY(AddHidden(id));
  }
  for (const Node& node : unit.nodes()) {
    const Rule* rule = FindRule(node.op);
    if (!rule || !rule->lower) return Unsupported("'{}' cannot run on the HTP", unit.NameOf(node));
    TRY(rule->lower(*this, node));
    TRY(TapOutputs(node));
  }
  const Value& out = unit.value(unit.outputs()[0]);
  hidden_ = TRY(Rows(unit.outputs()[0]));
  hidden_name_ = out.name;
  hidden_encoding_ = out.encoding;
  return {};
}

// The hidden state: from the last unit, or from outside.
Result<void> Lowering::AddHidden(ValueId id) {
  const Value& value = unit_->value(id);
  if (!hidden_.valid()) {
    const TensorSpec spec = SpecOfValue(value, RowsShape(value.shape.last()));
    hidden_ = TRY(AddInput(spec, HiddenName(value.name), {Role::kHidden, 0, value.name, {}}));
  } else if (hidden_encoding_ != value.encoding) {
    return InvalidInput("units disagree about the encoding of '{}'", value.name);
  }
  const bool head = unit_->value(unit_->outputs()[0]).name == kLogits;
  if (head && !options_.all_logits && rows_ > 1) hidden_ = TRY(SelectLastRow(hidden_, id));
  rows_of_[static_cast<size_t>(id)] = hidden_;
  return {};
}

// Padding makes the last valid row vary: its number is an input.
Result<Ref> Lowering::SelectLastRow(Ref hidden, ValueId id) {
  const Ref index =
      TRY(AddInput({DataType::kI32, {1}, {}}, "last_row", {Role::kLastRow, 0, "", {}}));
  rows_ = 1;
  return builder_.Add(
      {.type = "Gather",
       .name = unit_->value(id).name + ".last",
       .inputs = {hidden, index},
       .params = {{"axis", int32_t{2}}},
       .out = SpecOfValue(unit_->value(id), RowsShape(unit_->value(id).shape.last()))});
}

Result<void> Lowering::Finish() {
  const bool logits = hidden_name_ == kLogits;
  const Shape shape = builder_.spec(hidden_).shape;
  return AddOutput(hidden_, shape, HiddenName(hidden_name_),
                   {logits ? Role::kLogits : Role::kHidden, 0, hidden_name_, {}});
}

Result<void> Lowering::TapOutputs(const Node& node) {
  for (const ValueId id : node.outputs) {
    const std::string& name = unit_->value(id).name;
    if (std::find(options_.taps.begin(), options_.taps.end(), name) == options_.taps.end())
      continue;
    const auto index = static_cast<size_t>(id);
    if (!rows_of_[index].valid() && !heads_of_[index].valid()) continue;  // scores
    const Ref rows = TRY(Rows(id));
    TRY(AddOutput(rows, builder_.spec(rows).shape, "tap." + name, {Role::kTap, 0, name, {}}));
  }
  return {};
}

Result<Ref> Lowering::InOwnEncoding(ValueId id, Ref computed) {
  const Value& value = unit_->value(id);
  const TensorSpec& have = builder_.spec(computed);
  const TensorSpec want = SpecOfValue(value, have.shape);
  if (want.type == have.type) return computed;
  const bool quantize = have.type == DataType::kF16;
  return builder_.Add({.type = quantize ? "Quantize" : "Convert",
                       .name = value.name + (quantize ? ".fixed" : ".u8"),
                       .inputs = {computed},
                       .out = want});
}

bool Lowering::computes_in_float(const Node& node) const {
  const auto float_activation = [&](ValueId id) {
    const Value& value = unit_->value(id);
    return !value.constant && value.dtype == DType::kF32 && IsFloat(value);
  };
  return std::any_of(node.inputs.begin(), node.inputs.end(), float_activation) ||
         std::any_of(node.outputs.begin(), node.outputs.end(), float_activation);
}

Result<Ref> Lowering::FloatRows(ValueId id) {
  const Ref rows = TRY(Rows(id));
  if (is_float(id)) return rows;
  return builder_.Add({.type = "Dequantize",
                       .name = unit_->value(id).name + ".f16",
                       .inputs = {rows},
                       .out = {DataType::kF16, builder_.spec(rows).shape, {}}});
}

Result<Ref> Lowering::WideRows(ValueId id) { return Widen(id, TRY(Rows(id))); }

Result<Ref> Lowering::Widen(ValueId id, Ref x) {
  if (!is_bytes(id)) return x;
  const auto found = widened_.find(x.index);
  if (found != widened_.end()) return found->second;
  const Ref wide =
      TRY(builder_.Add({.type = "Convert",
                        .name = fmt::format("{}.u16.{}", unit_->value(id).name, x.index),
                        .inputs = {x},
                        .out = ComputeSpec(id, builder_.spec(x).shape)}));
  widened_[x.index] = wide;
  return wide;
}

Result<void> Lowering::SetValue(ValueId id, Ref computed) {
  const Value& value = unit_->value(id);
  computed = TRY(Reshape(computed, RowsShape(value.shape.last()), value.name + ".rows"));
  rows_of_[static_cast<size_t>(id)] = TRY(InOwnEncoding(id, computed));
  return {};
}

Result<void> Lowering::SetHeads(ValueId id, Ref computed) {
  heads_of_[static_cast<size_t>(id)] = TRY(InOwnEncoding(id, computed));
  return {};
}

Result<Ref> Lowering::Rows(ValueId id) {
  Ref& rows = rows_of_[static_cast<size_t>(id)];
  if (rows.valid()) return rows;
  const Ref heads = heads_of_[static_cast<size_t>(id)];
  CHECK(heads.valid());
  const std::string& name = unit_->value(id).name;
  const Ref together = TRY(Transpose(heads, {0, 2, 1, 3}, name + ".together"));
  return rows = TRY(Reshape(together, RowsShape(unit_->value(id).shape.last()), name + ".rows"));
}

Result<Ref> Lowering::SplitHeads(ValueId id, int64_t head_dim) {
  Ref& heads = heads_of_[static_cast<size_t>(id)];
  if (heads.valid()) return heads;
  const Ref rows = TRY(Rows(id));
  const std::string& name = unit_->value(id).name;
  const Shape apart = {1, rows_, builder_.spec(rows).shape[3] / head_dim, head_dim};
  const Ref split = TRY(Reshape(rows, apart, name + ".split"));
  return heads = TRY(Transpose(split, {0, 2, 1, 3}, name + ".heads"));
}

bool Lowering::is_float(ValueId id) const { return IsFloat(unit_->value(id)); }

bool Lowering::is_bytes(ValueId id) const {
  return !is_float(id) && unit_->value(id).encoding->dtype == DType::kU8;
}

const Encoding& Lowering::encoding(ValueId id) const {
  CHECK(!is_float(id));
  return *unit_->value(id).encoding;
}

TensorSpec Lowering::ComputeSpec(ValueId id, Shape shape) const {
  if (is_float(id)) return {DataType::kF16, shape, {}};
  return SpecOf(Widened(encoding(id)), shape);
}

int Lowering::layer() const {
  const std::string_view name = unit_->name();
  const size_t dot = name.rfind('.');
  int number = 0;
  if (dot != name.npos) std::from_chars(name.data() + dot + 1, name.data() + name.size(), number);
  return number;
}

Result<Ref> Lowering::Reshape(Ref x, Shape shape, std::string name) {
  TensorSpec out = builder_.spec(x);
  if (out.shape == shape) return x;
  out.shape = shape;
  return builder_.Add({.type = "Reshape", .name = std::move(name), .inputs = {x}, .out = out});
}

Result<Ref> Lowering::Transpose(Ref x, std::vector<int32_t> perm, std::string name) {
  TensorSpec out = builder_.spec(x);
  const Shape in = out.shape;
  int last_moved = -1;  // source dimension of the previous output dimension larger than 1
  bool in_order = true;
  for (int i = 0; i < in.rank(); ++i) {
    out.shape[i] = in[perm[i]];
    if (in[perm[i]] == 1) continue;
    in_order &= perm[i] > last_moved;
    last_moved = perm[i];
  }
  if (in_order) return Reshape(x, out.shape, std::move(name));
  const int64_t rank = in.rank();
  return builder_.Add({.type = "Transpose",
                       .name = std::move(name),
                       .inputs = {x},
                       .params = {{"perm", IntArray{DataType::kU32, {rank}, std::move(perm)}}},
                       .out = out});
}

// By a Reshape: a graph output is not read by other ops.
Result<void> Lowering::AddOutput(Ref x, Shape shape, std::string name, BoundTensor bound) {
  TensorSpec spec = builder_.spec(x);
  spec.shape = shape;
  const Ref out = TRY(builder_.Output(name, spec));
  TRY(builder_.Add(
      {.type = "Reshape", .name = name + ".copy", .inputs = {x}, .out = {}, .into = out}));
  graph_.outputs.push_back(std::move(bound));
  return {};
}

Result<Ref> Lowering::AddInput(TensorSpec spec, std::string name, BoundTensor bound) {
  graph_.inputs.push_back(std::move(bound));
  return builder_.Input(std::move(name), std::move(spec));
}

Result<Ref> Lowering::BlockSums(Ref x, int64_t block) {
  const auto found = block_sums_.find({x.index, block});
  if (found != block_sums_.end()) return found->second;
  const Shape shape = builder_.spec(x).shape;
  const int64_t blocks = shape.last() / block;
  const std::string name = fmt::format("sums.{}.{}", x.index, block);
  const Ref parts = TRY(Reshape(x, {rows_, blocks, block}, name + ".blocks"));
  const Ref sums = TRY(
      builder_.Add({.type = "ReduceSum",
                    .name = name,
                    .inputs = {parts},
                    .params = {{"axes", IntArray{DataType::kU32, {1}, {2}}}, {"keep_dims", false}},
                    .out = {DataType::kF16, {rows_, blocks}, {}}}));
  block_sums_[{x.index, block}] = sums;
  return sums;
}

}  // namespace hexlane::qnn
