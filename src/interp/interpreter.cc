#include "interp/interpreter.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <mutex>

#include "kernels/attention/attention.h"
#include "kernels/elementwise/elementwise.h"
#include "kernels/matmul/float.h"
#include "kernels/norm/norm.h"
#include "kernels/pack/pack.h"
#include "kernels/rope/rope.h"
#include "op/dims.h"

namespace hexlane {

std::vector<float> ToFloats(const TensorView& tensor) {
  std::vector<float> values(static_cast<size_t>(tensor.shape.elements()));
  if (tensor.scheme != Scheme::kPlain) {
    DequantizeRows(tensor, 0, tensor.shape[0], values.data());
    return values;
  }
  DecodeValues(tensor.bytes, {.dtype = tensor.dtype}, values);
  return values;
}

Interpreter::Interpreter(const Graph& graph, const InterpreterOptions& options)
    : graph_(graph), options_(options), constants_(graph.values().size()) {}

std::span<const float> Interpreter::ConstantFloats(ValueId id) {
  const TensorView& view = graph_.value(id).constant->view();
  if (view.scheme == Scheme::kPlain && view.dtype == DType::kF32) return view.As<float>();
  std::vector<float>& cached = constants_[static_cast<size_t>(id)];
  if (cached.empty()) cached = ToFloats(view);
  return cached;
}

std::span<const float> Interpreter::Floats(ValueId id, const Frame& frame) {
  if (graph_.value(id).constant) return ConstantFloats(id);
  const auto index = static_cast<size_t>(id);
  return frame.bound[index].empty() ? std::span<const float>(frame.floats[index])
                                    : frame.bound[index];
}

TensorView Interpreter::Matrix(ValueId id, const Frame& frame) {
  const Value& value = graph_.value(id);
  if (value.constant && value.constant->view().scheme == Scheme::kPlain)
    return value.constant->view();
  return {std::as_bytes(Floats(id, frame)), value.shape, DType::kF32};
}

namespace {

// Learns rows and past from the first input whose shape names them.
void LearnSymbols(const Shape& symbolic, const Shape& actual, int64_t& rows, int64_t& past) {
  for (int i = 0; i < std::min(symbolic.rank(), actual.rank()); ++i) {
    if (symbolic[i] == kRows) rows = actual[i];
    if (symbolic[i] == kPast) past = actual[i];
  }
}

Result<void> CheckInput(const Value& input, const HostValue& given, const Shape& want) {
  if (given.shape != want)
    return InvalidInput("input '{}'", input.name).Want("{}", want).Got("{}", given.shape);
  const size_t count = input.dtype == DType::kI32 ? given.ints.size() : given.floats.size();
  if (static_cast<int64_t>(count) != want.elements())
    return InvalidInput("input '{}' has {} values", input.name, count).Want("{}", want.elements());
  return {};
}

}  // namespace

Result<void> Interpreter::Bind(const Bindings& inputs, Frame& frame) const {
  for (const ValueId id : graph_.inputs()) {
    const auto it = inputs.find(graph_.value(id).name);
    if (it == inputs.end()) return InvalidInput("input '{}' is missing", graph_.value(id).name);
    LearnSymbols(graph_.value(id).shape, it->second.shape, frame.rows, frame.past);
  }
  for (const ValueId id : graph_.inputs()) {
    const Value& input = graph_.value(id);
    const HostValue& given = inputs.find(input.name)->second;
    TRY(CheckInput(input, given, Specialise(input.shape, frame.rows, frame.past)));
    const auto index = static_cast<size_t>(id);
    frame.ints[index] = given.ints;
    if (options_.fake_quantise && input.encoding) {
      frame.floats[index] = given.floats;
      FakeQuantize(frame.floats[index], *input.encoding);
    } else {
      frame.bound[index] = given.floats;
    }
  }
  return {};
}

Result<RunValues> Interpreter::Trace(const Bindings& inputs, const Observer& observer) {
  const size_t count = graph_.values().size();
  Frame frame{.floats = std::vector<std::vector<float>>(count),
              .bound = std::vector<std::span<const float>>(count),
              .ints = std::vector<std::span<const int32_t>>(count)};
  TRY(Bind(inputs, frame));
  if (observer) {
    for (const ValueId id : graph_.inputs())
      if (graph_.value(id).dtype == DType::kF32) observer(graph_.value(id), Floats(id, frame));
  }
  for (const Node& node : graph_.nodes()) TRY(RunNode(node, frame, observer));
  return frame;
}

Result<Bindings> Interpreter::Run(const Bindings& inputs, const Observer& observer) {
  RunValues frame = TRY(Trace(inputs, observer));
  Bindings outputs;
  for (const ValueId id : graph_.outputs()) {
    const Value& value = graph_.value(id);
    outputs[value.name] = {.shape = Specialise(value.shape, frame.rows, frame.past),
                           .floats = frame.floats[static_cast<size_t>(id)]};
  }
  return outputs;
}

Result<void> Interpreter::RunNode(const Node& node, Frame& frame, const Observer& observer) {
  const Shape shape = Specialise(graph_.value(node.outputs[0]).shape, frame.rows, frame.past);
  frame.floats[static_cast<size_t>(node.outputs[0])].resize(static_cast<size_t>(shape.elements()));
  switch (node.op) {
    case OpKind::kEmbedding: TRY(Embedding(node, frame)); break;
    case OpKind::kLinear: Linear(node, frame); break;
    case OpKind::kRmsNorm: RmsNorm(node, frame); break;
    case OpKind::kRope: Rope(node, frame); break;
    case OpKind::kAttention: Attention(node, frame, observer); break;
    case OpKind::kAdd:
    case OpKind::kMul:
    case OpKind::kSilu: Elementwise(node, frame); break;
  }
  Finish(node.outputs[0], frame, observer);
  return {};
}

void Interpreter::Finish(ValueId id, Frame& frame, const Observer& observer) const {
  const Value& value = graph_.value(id);
  std::vector<float>& values = frame.floats[static_cast<size_t>(id)];
  if (observer) observer(value, values);
  if (options_.fake_quantise && value.encoding) FakeQuantize(values, *value.encoding);
}

Result<void> Interpreter::Embedding(const Node& node, Frame& frame) {
  const TensorView& table = graph_.value(node.inputs[1]).constant->view();
  const std::span<const int32_t> ids = frame.ints[static_cast<size_t>(node.inputs[0])];
  const int64_t vocab = table.shape[0], dim = table.shape[1];
  float* out = frame.floats[static_cast<size_t>(node.outputs[0])].data();
  const bool quantised = table.scheme != Scheme::kPlain;
  for (size_t row = 0; row < ids.size(); ++row, out += dim) {
    if (ids[row] < 0 || ids[row] >= vocab)
      return InvalidInput("token id {} at position {}", ids[row], row).Want("0 … {}", vocab - 1);
    if (quantised) {
      DequantizeRows(table, ids[row], 1, out);
      continue;
    }
    const size_t bytes = static_cast<size_t>(dim) * DTypeBytes(table.dtype);
    DecodeValues(table.bytes.subspan(static_cast<size_t>(ids[row]) * bytes, bytes),
                 {.dtype = table.dtype}, {out, static_cast<size_t>(dim)});
  }
  return {};
}

void Interpreter::Linear(const Node& node, Frame& frame) {
  const Shape& weight = graph_.value(node.inputs[1]).shape;
  const std::span<const float> x = Floats(node.inputs[0], frame);
  const TensorView w = Matrix(node.inputs[1], frame);
  std::span<const float> bias;
  if (node.inputs.size() > 2) bias = Floats(node.inputs[2], frame);
  float* y = frame.floats[static_cast<size_t>(node.outputs[0])].data();
  MatMulFloat({x.data(), frame.rows, weight[1]}, w, bias, {y, frame.rows, weight[0]},
              options_.pool);
}

void Interpreter::RmsNorm(const Node& node, Frame& frame) {
  const int64_t dim = graph_.value(node.inputs[0]).shape.last();
  const std::span<const float> x = Floats(node.inputs[0], frame);
  const std::span<const float> w = Floats(node.inputs[1], frame);
  float* y = frame.floats[static_cast<size_t>(node.outputs[0])].data();
  hexlane::RmsNorm({x.data(), frame.rows, dim}, w, std::get<RmsNormAttrs>(node.attrs).eps,
                   {y, frame.rows, dim});
}

void Interpreter::Rope(const Node& node, Frame& frame) {
  const auto& attrs = std::get<RopeAttrs>(node.attrs);
  const int64_t dim = graph_.value(node.inputs[0]).shape.last();
  const std::span<const float> x = Floats(node.inputs[0], frame);
  float* y = frame.floats[static_cast<size_t>(node.outputs[0])].data();
  const RopeArgs args{.head_dim = attrs.head_dim,
                      .inv_freq = Floats(node.inputs[2], frame),
                      .first_position = frame.ints[static_cast<size_t>(node.inputs[1])][0],
                      .attention_factor = attrs.scale};
  hexlane::Rope({x.data(), frame.rows, dim}, args, {y, frame.rows, dim});
}

namespace {

// Least and greatest of what several threads see.
struct SharedRange {
  std::mutex mutex;
  float range[2] = {std::numeric_limits<float>::max(), std::numeric_limits<float>::lowest()};

  void Include(std::span<const float> values) {
    const auto [low, high] = std::minmax_element(values.begin(), values.end());
    const std::lock_guard lock(mutex);
    range[0] = std::min(range[0], *low);
    range[1] = std::max(range[1], *high);
  }
};

// Probabilities lie in [0, 1]: the full range of an unsigned type, or a float type as it is.
Encoding ProbabilityEncoding(const Encoding& scores) {
  if (!scores.is_integer()) return scores;
  return {.dtype = DType::kU16, .scale = 1.0f / 65535.0f};
}

}  // namespace

void Interpreter::Attention(const Node& node, Frame& frame, const Observer& observer) {
  const auto& attrs = std::get<AttentionAttrs>(node.attrs);
  const Value& scores = graph_.value(node.outputs[1]);
  const int64_t q_dim = attrs.heads * attrs.head_dim, kv_dim = attrs.kv_heads * attrs.head_dim;
  const auto rows_of = [&](int input, int64_t rows, int64_t dim) {
    return ConstRows(Floats(node.inputs[static_cast<size_t>(input)], frame).data(), rows, dim);
  };
  AttentionArgs args{.q = rows_of(0, frame.rows, q_dim),
                     .k = rows_of(1, frame.rows, kv_dim),
                     .v = rows_of(2, frame.rows, kv_dim),
                     .past_k = rows_of(3, frame.past, kv_dim),
                     .past_v = rows_of(4, frame.past, kv_dim),
                     .heads = attrs.heads,
                     .kv_heads = attrs.kv_heads,
                     .head_dim = attrs.head_dim,
                     .scale = attrs.scale,
                     .window = attrs.window,
                     .softcap = attrs.softcap};
  SharedRange seen;
  if (observer) args.on_scores = [&](std::span<float> row) { seen.Include(row); };
  if (options_.fake_quantise && scores.encoding) {
    args.on_scores = [&, observe = args.on_scores](std::span<float> row) {
      if (observe) observe(row);
      FakeQuantize(row, *scores.encoding);
    };
    const Encoding probability = ProbabilityEncoding(*scores.encoding);
    args.on_probabilities = [probability](std::span<float> row) { FakeQuantize(row, probability); };
  }
  float* out = frame.floats[static_cast<size_t>(node.outputs[0])].data();
  hexlane::Attention(args, {out, frame.rows, q_dim}, options_.pool);
  if (observer && frame.rows > 0) observer(scores, seen.range);
}

void Interpreter::Elementwise(const Node& node, Frame& frame) {
  const std::span<const float> a = Floats(node.inputs[0], frame);
  const std::span<float> y = frame.floats[static_cast<size_t>(node.outputs[0])];
  if (node.op == OpKind::kSilu) return Silu(a, y);
  const std::span<const float> b = Floats(node.inputs[1], frame);
  if (node.op == OpKind::kAdd) return Add(a, b, y);
  Mul(a, b, y);
}

}  // namespace hexlane
