#include "op/shape_rules.h"

#include "op/dims.h"

namespace hexlane::shape_rules {
namespace {

Result<void> WantRank(std::string_view what, const Shape& shape, int rank) {
  if (shape.rank() != rank)
    return InvalidInput("{} has rank {}", what, shape.rank()).Want("rank {}", rank);
  return {};
}

Result<void> WantShape(std::string_view what, const Shape& shape, const Shape& want) {
  if (shape != want)
    return InvalidInput("{} has the wrong shape", what).Want("{}", want).Got("{}", shape);
  return {};
}

// The last dimension must be a known number, `divisor` dividing it.
Result<void> WantMultiple(std::string_view what, const Shape& shape, int64_t divisor) {
  if (divisor <= 0 || shape.last() < 0 || shape.last() % divisor != 0)
    return InvalidInput("{}: last dimension {} is not a multiple of {}", what, shape.last(),
                        divisor);
  return {};
}

}  // namespace

Shapes EmbeddingShape(const Attrs&, std::span<const Shape> inputs) {
  TRY(WantRank("ids", inputs[0], 1));
  TRY(WantRank("table", inputs[1], 2));
  return std::vector{Shape{inputs[0][0], inputs[1][1]}};
}

Shapes LinearShape(const Attrs&, std::span<const Shape> inputs) {
  TRY(WantRank("input", inputs[0], 2));
  TRY(WantRank("weight", inputs[1], 2));
  if (inputs[0][1] != inputs[1][1])
    return InvalidInput("weight {} does not fit input {}", inputs[1], inputs[0]);
  if (inputs.size() > 2) TRY(WantShape("bias", inputs[2], Shape{inputs[1][0]}));
  return std::vector{Shape{inputs[0][0], inputs[1][0]}};
}

Shapes RmsNormShape(const Attrs&, std::span<const Shape> inputs) {
  TRY(WantRank("input", inputs[0], 2));
  TRY(WantRank("weight", inputs[1], 1));
  TRY(WantMultiple("input", inputs[0], inputs[1][0]));
  return std::vector{inputs[0]};
}

Shapes RopeShape(const Attrs& attrs, std::span<const Shape> inputs) {
  const int64_t head_dim = std::get<RopeAttrs>(attrs).head_dim;
  TRY(WantRank("input", inputs[0], 2));
  TRY(WantMultiple("input", inputs[0], head_dim));
  TRY(WantShape("past_len", inputs[1], Shape{1}));
  TRY(WantRank("inv_freq", inputs[2], 1));
  if (inputs[2][0] * 2 > head_dim)
    return InvalidInput("inv_freq has {} entries", inputs[2][0]).Want("at most {}", head_dim / 2);
  return std::vector{inputs[0]};
}

Shapes AttentionShape(const Attrs& attrs, std::span<const Shape> inputs) {
  const auto& a = std::get<AttentionAttrs>(attrs);
  if (a.kv_heads <= 0 || a.heads % a.kv_heads != 0)
    return InvalidInput("{} heads cannot share {} key/value heads", a.heads, a.kv_heads);
  const int64_t rows = inputs[0].rank() == 2 ? inputs[0][0] : 0;
  const int64_t past = inputs[3].rank() == 2 ? inputs[3][0] : 0;
  const int64_t kv_dim = a.kv_heads * a.head_dim;
  TRY(WantShape("q", inputs[0], Shape{rows, a.heads * a.head_dim}));
  TRY(WantShape("k", inputs[1], Shape{rows, kv_dim}));
  TRY(WantShape("v", inputs[2], Shape{rows, kv_dim}));
  TRY(WantShape("past_k", inputs[3], Shape{past, kv_dim}));
  TRY(WantShape("past_v", inputs[4], Shape{past, kv_dim}));
  TRY(WantShape("past_len", inputs[5], Shape{1}));
  const int64_t context = past == kPast && rows == kRows ? kContext : past + rows;
  return std::vector{inputs[0], Shape{a.heads, rows, context}};
}

Shapes SameAsInputs(const Attrs&, std::span<const Shape> inputs) {
  for (const Shape& shape : inputs) TRY(WantShape("operand", shape, inputs[0]));
  return std::vector{inputs[0]};
}

}  // namespace hexlane::shape_rules
