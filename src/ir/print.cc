#include "ir/text.h"
#include "op/dims.h"

namespace hexlane {
namespace {

std::string ShapeText(const Shape& shape) {
  std::string text = "[";
  for (int i = 0; i < shape.rank(); ++i) text += (i ? ", " : "") + DimName(shape[i]);
  return text + "]";
}

std::string TypeText(const Value& value) {
  if (value.constant && value.constant->view().scheme != Scheme::kPlain)
    return fmt::format("{}{}", Info(value.constant->view().scheme).name, ShapeText(value.shape));
  const DType dtype = value.constant ? value.constant->view().dtype : value.dtype;
  return fmt::format("{}{}", DTypeName(dtype), ShapeText(value.shape));
}

std::string EncodingText(const std::optional<Encoding>& encoding) {
  if (!encoding) return "";
  if (encoding->scale == 0) return fmt::format(" @{}", DTypeName(encoding->dtype));
  return fmt::format(" @{}({}, {})", DTypeName(encoding->dtype), encoding->scale, encoding->offset);
}

std::string ValueText(const Value& value) {
  return fmt::format("{} {}{}", value.name, TypeText(value), EncodingText(value.encoding));
}

std::string NodeText(const Graph& graph, const Node& node) {
  std::string text;
  for (const ValueId id : node.outputs)
    text += fmt::format("{}{}", text.empty() ? "" : ", ", ValueText(graph.value(id)));
  text += fmt::format(" = {}(", Def(node.op).name);
  for (size_t i = 0; i < node.inputs.size(); ++i)
    text += fmt::format("{}{}", i ? ", " : "", graph.value(node.inputs[i]).name);
  text += ")";
  Attrs attrs = node.attrs;  // Visit hands out references
  std::visit(
      [&](auto& fields) {
        fields.Visit(
            [&](std::string_view name, auto value) { text += fmt::format(" {}={}", name, value); });
      },
      attrs);
  return text;
}

}  // namespace

std::string Print(const Graph& graph) {
  std::string text = fmt::format("graph {}\n", graph.name());
  for (const ValueId id : graph.inputs())
    text += fmt::format("input {}\n", ValueText(graph.value(id)));
  for (const Value& value : graph.values())
    if (value.constant) text += fmt::format("const {}\n", ValueText(value));
  for (const Node& node : graph.nodes()) text += NodeText(graph, node) + "\n";
  for (const ValueId id : graph.outputs()) text += fmt::format("output {}\n", graph.value(id).name);
  return text;
}

}  // namespace hexlane
