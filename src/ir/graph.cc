#include "ir/graph.h"

#include <unordered_set>

namespace hexlane {

ValueId Graph::AddValue(Value value) {
  values_.push_back(std::move(value));
  return static_cast<ValueId>(values_.size()) - 1;
}

ValueId Graph::AddInput(std::string name, Shape shape, DType dtype) {
  const ValueId id = AddValue({.name = std::move(name), .shape = shape, .dtype = dtype});
  inputs_.push_back(id);
  return id;
}

ValueId Graph::AddConstant(std::string name, Tensor tensor) {
  const Shape shape = tensor.shape();
  return AddValue({.name = std::move(name), .shape = shape, .constant = std::move(tensor)});
}

Result<ValueId> Graph::Add(OpKind op, std::string name, std::vector<ValueId> inputs, Attrs attrs) {
  const OpDef& def = Def(op);
  if (std::holds_alternative<NoAttrs>(attrs)) attrs = def.default_attrs;
  const int count = static_cast<int>(inputs.size());
  if (count < def.inputs || count > def.inputs + def.optional)
    return InvalidInput("{}: {} has {} inputs", name, def.name, count).Want("{}", def.inputs);
  if (attrs.index() != def.default_attrs.index())
    return InvalidInput("{}: {} has attributes of another op", name, def.name);
  std::vector<Shape> shapes;
  for (const ValueId id : inputs) shapes.push_back(value(id).shape);
  Result<std::vector<Shape>> inferred = def.shape_rule(attrs, shapes);
  if (!inferred) {
    Error error = std::move(inferred).error();
    error.what = fmt::format("{} ({}): {}", name, def.name, error.what);
    return Failure(std::move(error));
  }
  Node node{op, attrs, std::move(inputs), {}};
  for (size_t i = 0; i < inferred->size(); ++i) {
    std::string value_name = name;
    if (i > 0) value_name += op == OpKind::kAttention ? ".scores" : fmt::format(".{}", i);
    node.outputs.push_back(AddValue({.name = std::move(value_name),
                                     .shape = (*inferred)[i],
                                     .producer = static_cast<NodeId>(nodes_.size())}));
  }
  nodes_.push_back(std::move(node));
  return nodes_.back().outputs[0];
}

Result<void> Graph::AppendInput(NodeId id, ValueId constant) {
  Node& node = nodes_[static_cast<size_t>(id)];
  const OpDef& def = Def(node.op);
  CHECK(value(constant).constant.has_value());
  if (static_cast<int>(node.inputs.size()) == def.inputs + def.optional)
    return InvalidInput("{}: {} takes no more inputs", NameOf(node), def.name);
  node.inputs.push_back(constant);
  std::vector<Shape> shapes;
  for (const ValueId input : node.inputs) shapes.push_back(value(input).shape);
  TRY(def.shape_rule(node.attrs, shapes));
  return {};
}

ValueId Graph::Find(std::string_view name) const {
  for (size_t i = 0; i < values_.size(); ++i)
    if (values_[i].name == name) return static_cast<ValueId>(i);
  return kNone;
}

namespace {

Result<void> VerifyNames(const Graph& graph) {
  std::unordered_set<std::string_view> names;
  for (const Value& value : graph.values()) {
    if (value.name.empty()) return InvalidInput("{}: a value has no name", graph.name());
    if (!names.insert(value.name).second)
      return InvalidInput("{}: two values are named '{}'", graph.name(), value.name);
  }
  return {};
}

Result<void> VerifyNode(const Graph& graph, const Node& node, std::vector<bool>& defined) {
  std::vector<Shape> shapes;
  for (const ValueId id : node.inputs) {
    if (!defined[static_cast<size_t>(id)]) {
      return InvalidInput("{}: '{}' is used before it is defined", graph.NameOf(node),
                          graph.value(id).name);
    }
    shapes.push_back(graph.value(id).shape);
  }
  const std::vector<Shape> inferred = TRY(Def(node.op).shape_rule(node.attrs, shapes));
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    const Value& output = graph.value(node.outputs[i]);
    if (output.shape != inferred[i]) {
      return InvalidInput("{}: output shape", output.name)
          .Want("{}", inferred[i])
          .Got("{}", output.shape);
    }
    defined[static_cast<size_t>(node.outputs[i])] = true;
  }
  return {};
}

}  // namespace

Result<void> Verify(const Graph& graph, GraphStage stage) {
  TRY(VerifyNames(graph));
  std::vector<bool> defined(graph.values().size());
  for (size_t i = 0; i < defined.size(); ++i) defined[i] = graph.values()[i].constant.has_value();
  for (const ValueId id : graph.inputs()) defined[static_cast<size_t>(id)] = true;
  for (const Node& node : graph.nodes()) TRY(VerifyNode(graph, node, defined));
  for (const ValueId id : graph.outputs()) {
    if (!defined[static_cast<size_t>(id)])
      return InvalidInput("{}: output '{}' is never computed", graph.name(), graph.value(id).name);
  }
  if (stage != GraphStage::kQuantised) return {};
  for (const Value& value : graph.values()) {
    if (!value.constant && value.dtype == DType::kF32 && !value.encoding)
      return InvalidInput("{}: '{}' has no encoding", graph.name(), value.name);
  }
  return {};
}

}  // namespace hexlane
