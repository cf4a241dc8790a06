#include "models/blocks.h"

#include <cmath>

#include "models/weights.h"
#include "op/dims.h"

namespace hexlane {

UnitBuilder::UnitBuilder(const Decoder& decoder, std::string unit_name, int layer)
    : decoder_(decoder), graph_(std::move(unit_name)) {
  if (layer >= 0) prefix_ = fmt::format("layers.{}.", layer);
}

ValueId UnitBuilder::Input(std::string_view name, Shape shape, DType dtype) {
  return graph_.AddInput(std::string(name), shape, dtype);
}

ValueId UnitBuilder::Node(OpKind op, std::string_view name, std::vector<ValueId> inputs,
                          Attrs attrs) {
  if (error_) return kNone;
  Result<ValueId> id = graph_.Add(op, Name(name), std::move(inputs), attrs);
  if (id) return *id;
  error_ = std::move(id).error();
  return kNone;
}

// `name` is complete: weights of the head may be the embedding's.
ValueId UnitBuilder::Weight(std::string_view name, const Shape& shape) {
  if (error_) return kNone;
  Result<Tensor> tensor = LoadWeight(decoder_, name, shape);
  if (tensor) return graph_.AddConstant(std::string(name), *std::move(tensor));
  error_ = std::move(tensor).error();
  return kNone;
}

ValueId UnitBuilder::PastLen() {
  const ValueId id = graph_.Find("past_len");
  return id != kNone ? id : Input("past_len", {1}, DType::kI32);
}

ValueId UnitBuilder::Embedding(std::string_view name, ValueId ids, std::string_view table) {
  return Node(OpKind::kEmbedding, name, {ids, Weight(table, {config().vocab, config().hidden})});
}

ValueId UnitBuilder::RmsNorm(std::string_view name, ValueId x, std::string_view weight) {
  return Node(OpKind::kRmsNorm, name, {x, Weight(Name(weight), {config().hidden})},
              RmsNormAttrs{.eps = config().norm_eps});
}

ValueId UnitBuilder::HeadNorm(std::string_view name, ValueId x, std::string_view weight) {
  return Node(OpKind::kRmsNorm, name, {x, Weight(Name(weight), {config().head_dim})},
              RmsNormAttrs{.eps = config().norm_eps});
}

ValueId UnitBuilder::Linear(std::string_view name, ValueId x, std::string_view linear, int64_t n,
                            bool bias) {
  if (error_) return kNone;
  const int64_t k = graph_.value(x).shape.last();
  std::vector<ValueId> inputs = {x, Weight(Name(fmt::format("{}.weight", linear)), {n, k})};
  if (bias) inputs.push_back(Weight(Name(fmt::format("{}.bias", linear)), {n}));
  return Node(OpKind::kLinear, name, std::move(inputs));
}

ValueId UnitBuilder::Rope(std::string_view name, ValueId x) {
  ValueId inv_freq = graph_.Find("rope.inv_freq");
  if (inv_freq == kNone) {
    const auto count = static_cast<int64_t>(config().inv_freq.size());
    inv_freq = graph_.AddConstant("rope.inv_freq", Tensor::FromFloats(config().inv_freq, {count}));
  }
  return Node(OpKind::kRope, name, {x, PastLen(), inv_freq},
              RopeAttrs{.head_dim = config().head_dim, .scale = config().rope_scale});
}

ValueId UnitBuilder::Attention(std::string_view name, ValueId q, ValueId k, ValueId v) {
  const Shape cache{kPast, config().kv_heads * config().head_dim};
  const ValueId past_k = Input(Name("past_k"), cache);
  const ValueId past_v = Input(Name("past_v"), cache);
  cache_outputs_ = {k, v};
  const float scale = 1.0f / std::sqrt(static_cast<float>(config().head_dim));
  return Node(OpKind::kAttention, name, {q, k, v, past_k, past_v, PastLen()},
              AttentionAttrs{.heads = config().heads,
                             .kv_heads = config().kv_heads,
                             .head_dim = config().head_dim,
                             .scale = scale});
}

ValueId UnitBuilder::Add(std::string_view name, ValueId a, ValueId b) {
  return Node(OpKind::kAdd, name, {a, b});
}

ValueId UnitBuilder::SwiGlu(ValueId x) {
  const bool bias = config().mlp_bias;
  const ValueId gate = Linear("gate_proj", x, "gate_proj", config().ffn, bias);
  const ValueId up = Linear("up_proj", x, "up_proj", config().ffn, bias);
  const ValueId silu = Node(OpKind::kSilu, "silu", {gate});
  const ValueId product = Node(OpKind::kMul, "gated", {silu, up});
  return Linear("down_proj", product, "down_proj", config().hidden, bias);
}

Result<Graph> UnitBuilder::Finish(ValueId output) && {
  if (error_) return Failure(*std::move(error_));
  graph_.MarkOutput(output);
  for (const ValueId id : cache_outputs_) graph_.MarkOutput(id);
  TRY(Verify(graph_, GraphStage::kBuilt));
  return std::move(graph_);
}

}  // namespace hexlane
