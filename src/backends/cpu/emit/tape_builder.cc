#include "backends/cpu/emit/tape_builder.h"

#include <algorithm>

namespace hexlane {
namespace {

TapeOp TapeOpOf(OpKind op) {
  switch (op) {
    case OpKind::kEmbedding: return TapeOp::kEmbedding;
    case OpKind::kLinear: return TapeOp::kLinear;
    case OpKind::kRmsNorm: return TapeOp::kRmsNorm;
    case OpKind::kRope: return TapeOp::kRope;
    case OpKind::kAttention: return TapeOp::kAttention;
    case OpKind::kAdd: return TapeOp::kAdd;
    case OpKind::kMul: return TapeOp::kMul;
    case OpKind::kSilu: return TapeOp::kSilu;
  }
  CheckFailed(__FILE__, __LINE__, "every op has a row above");
}

bool IsInput(const Graph& unit, ValueId id) {
  const auto inputs = unit.inputs();
  return std::find(inputs.begin(), inputs.end(), id) != inputs.end();
}

// Caches of 8 bits are rounded as the other backends round them; wider ones are float16.
std::optional<Encoding> CacheEncoding(const Value& value) {
  if (value.encoding && value.encoding->is_integer() && DTypeBytes(value.encoding->dtype) == 1)
    return value.encoding;
  return std::nullopt;
}

}  // namespace

std::optional<std::string> TapeBuilder::Refuses(const Graph& unit, const Node& node) {
  const auto constant = [&](size_t input) {
    return unit.value(node.inputs[input]).constant.has_value();
  };
  switch (node.op) {
    case OpKind::kEmbedding:
    case OpKind::kRmsNorm:
    case OpKind::kLinear:
      if (!constant(1) || (node.inputs.size() > 2 && !constant(2)))
        return "its weights are not constants";
      break;
    case OpKind::kRope:
      if (!constant(2)) return "its frequencies are not constants";
      break;
    case OpKind::kAttention:
      if (!IsInput(unit, node.inputs[3]) || !IsInput(unit, node.inputs[4]))
        return "its past keys and values are not inputs";
      break;
    default:  // elementwise
      for (size_t i = 0; i < node.inputs.size(); ++i)
        if (constant(i)) return "an operand is a constant";
  }
  for (const ValueId id : node.inputs)
    if (unit.value(id).constant && unit.value(id).shape.last() > (int64_t{1} << 24))
      return "a weight has too many columns";
  return std::nullopt;
}

int TapeBuilder::Acquire(int64_t columns) {
  for (size_t i = 0; i < free_.size(); ++i) {
    if (!free_[i] || tape_.buffers[i] != columns) continue;
    free_[i] = false;
    return static_cast<int>(i);
  }
  tape_.buffers.push_back(columns);
  free_.push_back(false);
  return static_cast<int>(free_.size()) - 1;
}

// Adds one unit's nodes. A fused node has no step of its own: its user's step does its work.
class TapeBuilder::Unit {
 public:
  Unit(TapeBuilder& builder, const Graph& graph)
      : builder_(builder),
        graph_(graph),
        uses_(graph.values().size()),
        buffer_(graph.values().size(), -1),
        fused_(graph.nodes().size()) {}

  Result<void> Run() {
    CountUses();
    TRY(BindInput());
    for (const Node& node : graph_.nodes()) TRY(AddNode(node));
    const ValueId out = graph_.outputs()[0];
    builder_.carried_ = graph_.value(out).name;
    builder_.carried_buffer_ = buffer_[static_cast<size_t>(out)];
    return {};
  }

 private:
  int& Uses(ValueId id) { return uses_[static_cast<size_t>(id)]; }
  int& Buffer(ValueId id) { return buffer_[static_cast<size_t>(id)]; }
  int64_t Columns(ValueId id) const { return graph_.value(id).shape.last(); }
  const Node* Producer(ValueId id) const {
    const NodeId node = graph_.value(id).producer;
    return node == kNone ? nullptr : &graph_.node(node);
  }

  void CountUses() {
    for (const Node& node : graph_.nodes())
      for (const ValueId id : node.inputs) ++Uses(id);
    ++Uses(graph_.outputs()[0]);  // never dead; k and v are stored by the attention step
  }

  // The unit's activation input: the ids, or the value that the unit before left.
  Result<void> BindInput() {
    for (const ValueId id : graph_.inputs()) {
      const Value& value = graph_.value(id);
      if (value.dtype != DType::kF32 || IsCache(id)) continue;
      if (builder_.tape_.steps.empty() && builder_.carried_buffer_ < 0) {
        builder_.tape_.input = builder_.Acquire(Columns(id));
        builder_.carried_ = value.name;
        builder_.carried_buffer_ = builder_.tape_.input;
      }
      if (value.name != builder_.carried_)
        return InvalidInput("{}: input '{}' comes from no unit", graph_.name(), value.name)
            .Want("{}", builder_.carried_);
      Buffer(id) = builder_.carried_buffer_;
    }
    return {};
  }

  bool IsCache(ValueId id) const {
    return std::any_of(graph_.nodes().begin(), graph_.nodes().end(), [&](const Node& node) {
      return node.op == OpKind::kAttention && (node.inputs[3] == id || node.inputs[4] == id);
    });
  }

  Result<void> AddNode(const Node& node) {
    if (const auto reason = Refuses(graph_, node))
      return Unsupported("{} cannot run on the CPU: {}", graph_.NameOf(node), *reason);
    if (WillFuse(node)) {
      fused_[static_cast<size_t>(graph_.value(node.outputs[0]).producer)] = true;
      return {};
    }
    if (node.op == OpKind::kMul && AddSiluMul(node)) return {};
    if (node.op == OpKind::kAdd && AddResidual(node)) return {};
    AddPlain(node);
    return {};
  }

  // The only node that reads `id`, when there is one and it is no output.
  const Node* OnlyUser(ValueId id) {
    const auto outputs = graph_.outputs();
    if (Uses(id) != 1 || std::find(outputs.begin(), outputs.end(), id) != outputs.end())
      return nullptr;
    for (const Node& node : graph_.nodes())
      if (node.reads(id)) return &node;
    return nullptr;
  }

  // mul(silu(a), b) => silu_mul(a, b);  add(a, linear(x)) => a += linear(x) when a is dead after it
  bool WillFuse(const Node& node) {
    const ValueId out = node.outputs[0];
    const Node* user = OnlyUser(out);
    if (!user || user->inputs.size() != 2) return false;
    const ValueId other = user->inputs[user->inputs[0] == out ? 1 : 0];
    if (node.op == OpKind::kSilu) return user->op == OpKind::kMul && !IsFused(other);
    if (node.op != OpKind::kLinear || user->op != OpKind::kAdd) return false;
    return Buffer(other) >= 0 && LastUse(other, *user);
  }

  bool IsFused(ValueId id) const {
    const NodeId node = graph_.value(id).producer;
    return node != kNone && fused_[static_cast<size_t>(node)];
  }

  // Whether `user` is the last node to read `id`, and the unit's output is another value.
  bool LastUse(ValueId id, const Node& user) const {
    if (graph_.outputs()[0] == id) return false;
    const Node* last = nullptr;
    for (const Node& node : graph_.nodes())
      if (node.reads(id)) last = &node;
    return last == &user;
  }

  const Node* FusedOperand(const Node& node, OpKind op, ValueId& other) const {
    for (size_t i = 0; i < 2; ++i) {
      const Node* producer = Producer(node.inputs[i]);
      if (!producer || producer->op != op || !IsFused(node.inputs[i])) continue;
      other = node.inputs[1 - i];
      return producer;
    }
    return nullptr;
  }

  bool AddSiluMul(const Node& node) {
    ValueId other = kNone;
    const Node* silu = FusedOperand(node, OpKind::kSilu, other);
    if (!silu) return false;
    TapeStep step{.op = TapeOp::kSiluMul, .name = graph_.NameOf(node)};
    step.in = {Buffer(silu->inputs[0]), Buffer(other)};
    step.out = builder_.Acquire(Columns(node.outputs[0]));
    Push(std::move(step), node.outputs[0], {silu->inputs[0], other});
    return true;
  }

  bool AddResidual(const Node& node) {
    ValueId residual = kNone;
    const Node* linear = FusedOperand(node, OpKind::kLinear, residual);
    if (!linear) return false;
    TapeStep step{.op = TapeOp::kLinear, .name = graph_.NameOf(node), .accumulate = true};
    step.in = {Buffer(linear->inputs[0])};
    step.weights = Weights(*linear);
    step.out = Buffer(residual);
    Push(std::move(step), node.outputs[0], {linear->inputs[0]});
    return true;
  }

  std::vector<std::string> Weights(const Node& node) const {
    std::vector<std::string> names;
    for (const ValueId id : node.inputs)
      if (graph_.value(id).constant) names.push_back(graph_.value(id).name);
    return names;
  }

  void AddPlain(const Node& node) {
    TapeStep step{.op = TapeOpOf(node.op), .name = graph_.NameOf(node), .attrs = node.attrs};
    std::vector<ValueId> read;
    for (const ValueId id : node.inputs)
      if (Buffer(id) >= 0) read.push_back(id);
    for (const ValueId id : read) step.in.push_back(Buffer(id));
    step.weights = Weights(node);
    if (node.op == OpKind::kAttention) {
      step.k_encoding = CacheEncoding(graph_.value(node.inputs[1]));
      step.v_encoding = CacheEncoding(graph_.value(node.inputs[2]));
    }
    // Rope works in place where it may.
    const bool in_place = node.op == OpKind::kRope && Uses(node.inputs[0]) == 1;
    step.out = in_place ? step.in[0] : builder_.Acquire(Columns(node.outputs[0]));
    if (in_place) read.clear();
    Push(std::move(step), node.outputs[0], read);
  }

  // Appends the step that computes `out`, and frees what it read for the last time.
  void Push(TapeStep step, ValueId out, const std::vector<ValueId>& read) {
    Buffer(out) = step.out;
    builder_.tape_.steps.push_back(std::move(step));
    for (const ValueId id : read)
      if (--Uses(id) == 0) builder_.Release(Buffer(id));
    if (Uses(out) == 0) builder_.Release(Buffer(out));
  }

  TapeBuilder& builder_;
  const Graph& graph_;
  std::vector<int> uses_;    // by value: nodes that have yet to read it
  std::vector<int> buffer_;  // by value; -1: none (yet)
  std::vector<bool> fused_;  // by node
};

Result<void> TapeBuilder::AddUnit(const Graph& unit) { return Unit(*this, unit).Run(); }

Result<Tape> TapeBuilder::Finish() && {
  if (tape_.steps.empty()) return InvalidInput("no units to emit");
  tape_.output = carried_buffer_;
  // A result that is written once gets a buffer of its own, which the executor puts where the
  // caller wants it.
  TapeStep& last = tape_.steps.back();
  if (last.out == tape_.output && !last.accumulate && last.op != TapeOp::kRope) {
    tape_.buffers.push_back(tape_.buffers[static_cast<size_t>(last.out)]);
    last.out = tape_.output = static_cast<int>(tape_.buffers.size()) - 1;
  }
  return std::move(tape_);
}

}  // namespace hexlane
