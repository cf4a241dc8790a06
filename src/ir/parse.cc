#include <charconv>
#include <cmath>
#include <unordered_map>

#include "ir/text.h"
#include "op/dims.h"

namespace hexlane {
namespace {

// Takes tokens off the front of one line.
class Cursor {
 public:
  explicit Cursor(std::string_view line) : rest_(line) {}

  bool Eat(std::string_view token) {
    SkipSpace();
    if (!rest_.starts_with(token)) return false;
    rest_.remove_prefix(token.size());
    return true;
  }
  // Everything up to one of `ends` or a space.
  std::string_view Word(std::string_view ends = "[](),=@") {
    SkipSpace();
    size_t n = 0;
    while (n < rest_.size() && rest_[n] != ' ' && ends.find(rest_[n]) == ends.npos) ++n;
    const std::string_view word = rest_.substr(0, n);
    rest_.remove_prefix(n);
    return word;
  }
  bool AtEnd() {
    SkipSpace();
    return rest_.empty();
  }

 private:
  void SkipSpace() {
    while (!rest_.empty() && rest_[0] == ' ') rest_.remove_prefix(1);
  }
  std::string_view rest_;
};

template <typename T>
Result<T> Number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    return Corrupt("not a number").Got("'{}'", text);
  return value;
}

struct TypedName {
  std::string name;
  Shape shape;
  DType dtype = DType::kF32;
  Scheme scheme = Scheme::kPlain;
  std::optional<Encoding> encoding;
};

Result<Shape> ParseShape(Cursor& cursor) {
  std::vector<int64_t> dims;
  if (!cursor.Eat("[")) return Corrupt("a shape is missing").Want("[");
  while (!cursor.Eat("]")) {
    if (!dims.empty() && !cursor.Eat(",")) return Corrupt("bad shape").Want(", or ]");
    const std::string_view word = cursor.Word();
    const std::optional<int64_t> dim = DimFromName(word);
    if (!dim || dims.size() == Shape::kMaxRank) return Corrupt("bad dimension").Got("'{}'", word);
    dims.push_back(*dim);
  }
  return Shape(std::span<const int64_t>(dims));
}

// What Encoding can mean: other types and steps would end in a CHECK or in no numbers.
Result<void> CheckEncoding(const Encoding& encoding) {
  constexpr int32_t kMaxOffset = 1 << 24;  // integers that a float holds exactly
  const bool is_float = encoding.dtype == DType::kF16 || encoding.dtype == DType::kF32;
  if (!is_float && !encoding.is_integer()) {
    return Corrupt("an encoding of a type that activations cannot have")
        .Want("u8, i8, u16, i16, f16 or f32")
        .Got("{}", DTypeName(encoding.dtype));
  }
  if (is_float) return {};
  if (!(encoding.scale > 0) || !std::isfinite(encoding.scale))
    return Corrupt("an encoding's scale").Want("a number above 0").Got("{}", encoding.scale);
  if (encoding.offset < -kMaxOffset || encoding.offset > kMaxOffset)
    return Corrupt("an encoding's offset").Want("at most 2^24").Got("{}", encoding.offset);
  return {};
}

Result<std::optional<Encoding>> ParseEncoding(Cursor& cursor) {
  if (!cursor.Eat("@")) return std::optional<Encoding>();
  const std::string_view word = cursor.Word();
  const std::optional<DType> dtype = DTypeFromName(word);
  if (!dtype) return Corrupt("unknown data type in an encoding").Got("'{}'", word);
  Encoding encoding{.dtype = *dtype};
  if (cursor.Eat("(")) {
    encoding.scale = TRY(Number<float>(cursor.Word()));
    if (!cursor.Eat(",")) return Corrupt("an encoding without offset");
    encoding.offset = TRY(Number<int32_t>(cursor.Word()));
    if (!cursor.Eat(")")) return Corrupt("an encoding is not closed").Want(")");
  }
  TRY(CheckEncoding(encoding));
  return std::optional(encoding);
}

Result<TypedName> ParseTyped(Cursor& cursor) {
  TypedName typed{.name = std::string(cursor.Word())};
  if (typed.name.empty()) return Corrupt("a name is missing");
  const std::string_view type = cursor.Word();
  if (const auto dtype = DTypeFromName(type)) {
    typed.dtype = *dtype;
  } else if (const auto scheme = SchemeFromName(type)) {
    typed.scheme = *scheme;
  } else {
    return Corrupt("'{}': unknown type", typed.name).Got("'{}'", type);
  }
  typed.shape = TRY(ParseShape(cursor));
  typed.encoding = TRY(ParseEncoding(cursor));
  return typed;
}

Result<Attrs> ParseAttrs(Cursor& cursor, const OpDef& def) {
  std::unordered_map<std::string_view, std::string_view> given;
  while (!cursor.AtEnd()) {
    const std::string_view name = cursor.Word();
    if (name.empty() || !cursor.Eat("=")) return Corrupt("bad attribute").Want("name=value");
    given[name] = cursor.Word();
  }
  Attrs attrs = def.default_attrs;
  Result<void> result;
  const auto set = [&](std::string_view name, auto& field) {
    const auto it = given.find(name);
    if (it == given.end()) return;
    const auto value = Number<std::remove_reference_t<decltype(field)>>(it->second);
    if (value)
      field = *value;
    else
      result = tl::unexpected(value.error());
    given.erase(it);
  };
  std::visit([&](auto& fields) { fields.Visit(set); }, attrs);
  TRY(result);
  if (!given.empty()) return Corrupt("{} has no attribute '{}'", def.name, given.begin()->first);
  return attrs;
}

class GraphParser {
 public:
  explicit GraphParser(const ConstantSource& constants) : constants_(constants) {}

  Result<void> Line(std::string_view line) {
    Cursor cursor(line);
    if (cursor.AtEnd()) return {};
    if (cursor.Eat("graph ")) {
      graph_ = Graph(std::string(cursor.Word()));
    } else if (cursor.Eat("input ")) {
      TRY(Input(cursor));
    } else if (cursor.Eat("const ")) {
      TRY(Constant(cursor));
    } else if (cursor.Eat("output ")) {
      graph_.MarkOutput(TRY(Lookup(cursor.Word())));
    } else {
      TRY(NodeLine(cursor));
    }
    if (!cursor.AtEnd()) return Corrupt("something is left at the end of the line");
    return {};
  }

  Graph Take() { return std::move(graph_); }

 private:
  Result<void> Input(Cursor& cursor) {
    TypedName typed = TRY(ParseTyped(cursor));
    TRY(Declare(typed.name, graph_.AddInput(typed.name, typed.shape, typed.dtype)));
    graph_.value(ids_[typed.name]).encoding = typed.encoding;
    return {};
  }

  Result<void> Constant(Cursor& cursor) {
    TypedName typed = TRY(ParseTyped(cursor));
    Tensor tensor = TRY(constants_(typed.name));
    const TensorView& view = tensor.view();
    const bool same_type =
        view.scheme == typed.scheme && (view.scheme != Scheme::kPlain || view.dtype == typed.dtype);
    if (view.shape != typed.shape || !same_type) {
      return Corrupt("constant '{}' differs from its stored weight", typed.name)
          .Want("{}", typed.shape)
          .Got("{}", view.shape);
    }
    return Declare(typed.name, graph_.AddConstant(typed.name, std::move(tensor)));
  }

  Result<void> NodeLine(Cursor& cursor) {
    std::vector<TypedName> outputs;
    do {
      outputs.push_back(TRY(ParseTyped(cursor)));
    } while (cursor.Eat(","));
    if (!cursor.Eat("=")) return Corrupt("a node without '='");
    const std::string_view op_name = cursor.Word();
    const std::optional<OpKind> op = OpFromName(op_name);
    if (!op) return Corrupt("unknown op").Got("'{}'", op_name);
    const std::vector<ValueId> inputs = TRY(Operands(cursor));
    const Attrs attrs = TRY(ParseAttrs(cursor, Def(*op)));
    TRY(graph_.Add(*op, outputs[0].name, inputs, attrs));
    return Outputs(outputs);
  }

  Result<std::vector<ValueId>> Operands(Cursor& cursor) {
    std::vector<ValueId> inputs;
    if (!cursor.Eat("(")) return Corrupt("an op without operands").Want("(");
    while (!cursor.Eat(")")) {
      if (!inputs.empty() && !cursor.Eat(",")) return Corrupt("bad operands").Want(", or )");
      inputs.push_back(TRY(Lookup(cursor.Word())));
    }
    return inputs;
  }

  // Names, shapes and encodings of the node just added, against the text.
  Result<void> Outputs(const std::vector<TypedName>& outputs) {
    const Node& node = graph_.nodes().back();
    if (outputs.size() != node.outputs.size())
      return Corrupt("'{}' has {} outputs", outputs[0].name, outputs.size())
          .Want("{}", node.outputs.size());
    for (size_t i = 0; i < outputs.size(); ++i) {
      Value& value = graph_.value(node.outputs[i]);
      if (value.shape != outputs[i].shape || value.name != outputs[i].name)
        return Corrupt("an output of '{}' does not fit its op", outputs[0].name)
            .Want("{} {}", value.name, value.shape)
            .Got("{} {}", outputs[i].name, outputs[i].shape);
      value.encoding = outputs[i].encoding;
      TRY(Declare(value.name, node.outputs[i]));
    }
    return {};
  }

  Result<void> Declare(std::string_view name, ValueId id) {
    if (!ids_.emplace(name, id).second) return Corrupt("'{}' is defined twice", name);
    return {};
  }

  Result<ValueId> Lookup(std::string_view name) const {
    const auto it = ids_.find(std::string(name));
    if (it == ids_.end()) return Corrupt("'{}' is not defined", name);
    return it->second;
  }

  const ConstantSource& constants_;
  Graph graph_{""};
  std::unordered_map<std::string, ValueId> ids_;
};

}  // namespace

Result<Graph> Parse(std::string_view text, std::string_view where,
                    const ConstantSource& constants) {
  GraphParser parser(constants);
  for (int line = 1; !text.empty(); ++line) {
    const size_t end = std::min(text.find('\n'), text.size());
    Result<void> result = parser.Line(text.substr(0, end));
    if (!result) {
      Error error = std::move(result).error();
      if (error.where.empty()) error.where = fmt::format("{}:{}", where, line);
      return Failure(std::move(error));
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  Graph graph = parser.Take();
  TRY(Verify(graph, GraphStage::kBuilt));
  return graph;
}

}  // namespace hexlane
