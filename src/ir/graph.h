// The graph: values and nodes with integer ids. Nodes are in execution order by construction. Every
// activation is logically float32; a Value's encoding says how a quantised graph represents it.
#ifndef HEXLANE_IR_GRAPH_H_
#define HEXLANE_IR_GRAPH_H_

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/encoding.h"
#include "base/tensor.h"
#include "op/op.h"

namespace hexlane {

using ValueId = int32_t;
using NodeId = int32_t;
inline constexpr int32_t kNone = -1;

struct Value {
  std::string name;           // unique in its graph; unique in the model up to stage-wide inputs
  Shape shape;                // may hold symbols: op/dims.h
  DType dtype = DType::kF32;  // kF32, or kI32 for ids and positions
  std::optional<Encoding> encoding;  // representation in a quantised graph; none: float32
  std::optional<Tensor> constant;    // a weight: plain or quantised by its scheme
  NodeId producer = kNone;           // none for inputs and constants
};

struct Node {
  OpKind op;
  Attrs attrs;
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;

  bool reads(ValueId id) const { return std::ranges::find(inputs, id) != inputs.end(); }
};

class Graph {
 public:
  explicit Graph(std::string name) : name_(std::move(name)) {}

  ValueId AddInput(std::string name, Shape shape, DType dtype = DType::kF32);
  ValueId AddConstant(std::string name, Tensor tensor);
  // Appends a node and infers its output shapes; the outputs are named `name`, `name`.1, …
  // (Attention's second output: `name`.scores). The first output is returned. kInvalidInput names
  // the node when the inputs do not fit.
  Result<ValueId> Add(OpKind op, std::string name, std::vector<ValueId> inputs, Attrs attrs = {});
  // Gives a node one more, optional input: a constant. kInvalidInput as for Add.
  Result<void> AppendInput(NodeId node, ValueId constant);
  void MarkOutput(ValueId value) { outputs_.push_back(value); }

  const std::string& name() const { return name_; }
  std::span<const Node> nodes() const { return nodes_; }
  std::span<const Value> values() const { return values_; }
  std::span<const ValueId> inputs() const { return inputs_; }
  std::span<const ValueId> outputs() const { return outputs_; }
  const Value& value(ValueId id) const { return values_[static_cast<size_t>(id)]; }
  Value& value(ValueId id) { return values_[static_cast<size_t>(id)]; }
  const Node& node(NodeId id) const { return nodes_[static_cast<size_t>(id)]; }
  // A node goes by the name of its first output.
  const std::string& NameOf(const Node& node) const { return value(node.outputs[0]).name; }
  ValueId Find(std::string_view name) const;  // kNone when absent

 private:
  ValueId AddValue(Value value);

  std::string name_;
  std::vector<Node> nodes_;
  std::vector<Value> values_;
  std::vector<ValueId> inputs_;
  std::vector<ValueId> outputs_;
};

// What a graph must satisfy at each point of the pipeline.
enum class GraphStage {
  kBuilt,  // arity, attribute types, shapes by the ops' rules, names unique, inputs defined before
           // use
  kQuantised,  // also: every float activation has an encoding
};
Result<void> Verify(const Graph& graph, GraphStage stage);

}  // namespace hexlane

#endif  // HEXLANE_IR_GRAPH_H_
