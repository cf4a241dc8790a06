// Grouped-query attention over the cache and the new rows, all heads in one MatMul:
//   scores  = q [1, kv, group·rows, D] × [past_k kᵀ] [1, kv, D, context]      the query group is
//   folded into the rows probs   = softmax(scale · (scores + mask)) scale is the softmax's beta out
//   = probs × [past_v v] [1, kv, context, D]
#include <cmath>

#include "backends/qnn/driver/values.h"
#include "backends/qnn/emit/ops.h"

namespace hexlane::qnn {
namespace {

// The library wants the second operand of a 16-bit × 16-bit MatMul symmetric.
constexpr int32_t kSymmetricOffset = -32768;

// Encoding of q kᵀ before scaling. Its range reaches so far below the calibrated scores (quant/
// widens it) that what saturates at its bottom counts as hidden.
PerTensor RawScores(const Encoding& scores, float scale) {
  return {scores.scale / scale, scores.offset};
}

struct AttentionLowering {
  Lowering& lowering;
  const Node& node;
  const AttentionAttrs& attrs;
  const std::string& name;

  GraphBuilder& builder() { return lowering.builder(); }
  bool is_float() const { return lowering.is_float(node.outputs[0]); }
  int64_t rows() const { return lowering.rows(); }
  int64_t context() const { return lowering.stage().context; }
  int64_t group() const { return attrs.heads / attrs.kv_heads; }
  Shape GroupShape(int64_t last) const { return {1, attrs.kv_heads, group() * rows(), last}; }
  Shape HeadShape(int64_t last) const { return {1, attrs.heads, rows(), last}; }

  // [past new] along `axis`, and the new part as an output of the graph.
  Result<Ref> WithCache(Ref fresh, int axis, Role past_role, Role new_role, const char* what) {
    const TensorSpec spec = builder().spec(fresh);
    const int layer = lowering.layer();
    const Shape& s = spec.shape;
    TRY(lowering.AddOutput(fresh, {s[1], 1, s[2], s[3]}, fmt::format("past_{}_{}_out", what, layer),
                           {new_role, layer, "", {}}));
    const int64_t past_len = lowering.stage().past();
    if (past_len == 0) return fresh;
    TensorSpec past = spec;
    past.shape[axis] = past_len;
    const Shape cached = past.shape;
    past.shape = {cached[1], 1, cached[2], cached[3]};
    const Ref input = TRY(lowering.AddInput(past, fmt::format("past_{}_{}_in", what, layer),
                                            {past_role, layer, "", {}}));
    const Ref heads = TRY(lowering.Reshape(input, cached, fmt::format("{}.past_{}", name, what)));
    TensorSpec whole = spec;
    whole.shape[axis] = context();
    return builder().Add({.type = "Concat",
                          .name = fmt::format("{}.{}", name, what),
                          .inputs = {heads, fresh},
                          .params = {{"axis", static_cast<uint32_t>(axis)}},
                          .out = whole});
  }

  Result<Ref> Keys() {
    const Ref k = TRY(lowering.SplitHeads(node.inputs[1], attrs.head_dim));
    const Ref transposed = TRY(lowering.Transpose(k, {0, 1, 3, 2}, name + ".kt"));
    return WithCache(transposed, 3, Role::kPastKey, Role::kNewKey, "key");
  }

  Result<Ref> Values() {
    const Ref v = TRY(lowering.SplitHeads(node.inputs[2], attrs.head_dim));
    return WithCache(v, 2, Role::kPastValue, Role::kNewValue, "value");
  }

  TensorSpec ScoreSpec(Shape shape) {
    if (is_float()) return {DataType::kF16, shape, {}};
    return {DataType::kUFixed16, shape, RawScores(lowering.encoding(node.outputs[1]), attrs.scale)};
  }

  Result<Ref> Scores(Ref keys) {
    const ValueId in = node.inputs[0];
    Ref q = TRY(lowering.Widen(in, TRY(lowering.SplitHeads(in, attrs.head_dim))));
    q = TRY(lowering.Reshape(q, GroupShape(attrs.head_dim), name + ".q"));
    const TensorSpec out = ScoreSpec(GroupShape(context()));
    return builder().Add(
        {.type = "MatMul", .name = name + ".scores", .inputs = {q, keys}, .out = out});
  }

  Result<Ref> Probabilities(Ref scores) {
    const Ref mask = TRY(lowering.MaskInput(attrs.window, is_float()));
    const TensorSpec masked = ScoreSpec(HeadShape(context()));
    TensorSpec probabilities = masked;
    if (!is_float()) probabilities.quant = PerTensor{1.0f / 65535, 0};
    const Ref by_head = TRY(lowering.Reshape(scores, HeadShape(context()), name + ".by_head"));
    const Ref sum = TRY(builder().Add({.type = "ElementWiseAdd",
                                       .name = name + ".masked",
                                       .inputs = {by_head, mask},
                                       .out = masked}));
    const Ref probs = TRY(builder().Add({.type = "Softmax",
                                         .name = name + ".probs",
                                         .inputs = {sum},
                                         .params = {{"axis", 3u}, {"beta", attrs.scale}},
                                         .out = probabilities}));
    return lowering.Reshape(probs, GroupShape(context()), name + ".by_group");
  }

  Result<void> Lower() {
    const Ref keys = TRY(Keys());
    const Ref values = TRY(Values());
    const Ref probs = TRY(Probabilities(TRY(Scores(keys))));
    const Ref out = TRY(
        builder().Add({.type = "MatMul",
                       .name = name + ".mix",
                       .inputs = {probs, values},
                       .out = lowering.ComputeSpec(node.outputs[0], GroupShape(attrs.head_dim))}));
    Ref heads = TRY(lowering.Reshape(out, HeadShape(attrs.head_dim), name + ".heads"));
    // A Convert of this product to 8 bits is garbage (QNN 2.51, docs/qnn.md): by way of f16.
    if (lowering.is_bytes(node.outputs[0])) {
      heads = TRY(builder().Add({.type = "Dequantize",
                                 .name = name + ".f16",
                                 .inputs = {heads},
                                 .out = {DataType::kF16, HeadShape(attrs.head_dim), {}}}));
    }
    return lowering.SetHeads(node.outputs[0], heads);
  }
};

Reason RefuseCache(const Value& value, const Target& target) {
  if (IsFloat(value)) return std::nullopt;
  const Encoding& encoding = *value.encoding;
  if (encoding.dtype == DType::kU8) return std::nullopt;
  if (encoding.dtype != DType::kU16)
    return fmt::format("'{}' is neither u8, u16 nor f16", value.name);
  if (!target.has_u16_matmul())
    return fmt::format("a 16-bit KV cache needs V73 or later; use --kv-bits 8 on {}", target.name);
  if (encoding.offset != kSymmetricOffset)
    return fmt::format("the 16-bit cache value '{}' is not symmetric (offset {})", value.name,
                       encoding.offset);
  return std::nullopt;
}

}  // namespace

Reason RefuseAttention(const Graph& unit, const Node& node, const Target& target) {
  const auto& attrs = std::get<AttentionAttrs>(node.attrs);
  if (attrs.softcap != 0) return "soft-capped scores are not supported";
  if (Reason reason = RefuseMixed(unit, node)) return reason;
  for (const int input : {1, 2})
    if (Reason reason = RefuseCache(unit.value(node.inputs[input]), target)) return reason;
  for (const auto& [fresh, past] : {std::pair{1, 3}, std::pair{2, 4}})
    if (unit.value(node.inputs[fresh]).encoding != unit.value(node.inputs[past]).encoding)
      return "new and cached keys or values have different encodings";
  const Value& scores = unit.value(node.outputs[1]);
  if (!IsFloat(unit.value(node.outputs[0])) &&
      (IsFloat(scores) || scores.encoding->dtype != DType::kU16))
    return "its scores have no 16-bit encoding";
  return std::nullopt;
}

Result<void> LowerAttention(Lowering& lowering, const Node& node) {
  return AttentionLowering{lowering, node, std::get<AttentionAttrs>(node.attrs),
                           lowering.unit().NameOf(node)}
      .Lower();
}

float MaskDepth(const Graph& unit) {
  float depth = 0;
  for (const Node& node : unit.nodes()) {
    if (node.op != OpKind::kAttention || IsFloat(unit.value(node.outputs[1]))) continue;
    const float scale = std::get<AttentionAttrs>(node.attrs).scale;
    depth = std::max(depth, 65535 * RawScores(*unit.value(node.outputs[1]).encoding, scale).scale);
  }
  return depth;
}

}  // namespace hexlane::qnn
