// A decoder of one layer for tests of what transforms its weights: two query heads that share keys
// and values, biases, SwiGLU, and a head tied to the embedding table.
#ifndef HEXLANE_QUANT_ALGORITHM_SMALL_DECODER_H_
#define HEXLANE_QUANT_ALGORITHM_SMALL_DECODER_H_

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <string>
#include <vector>

#include "interp/decoder_run.h"
#include "ir/text.h"

namespace hexlane::testing {

inline constexpr std::array<std::string_view, 3> kSmallDecoder = {R"(graph embed
input ids i32[rows]
const embed.weight f32[50, 48]
embed.out f32[rows, 48] = Embedding(ids, embed.weight)
output embed.out
)",
                                                                  R"(graph layers.0
input embed.out f32[rows, 48]
const attn_norm.weight f32[48]
attn_norm f32[rows, 48] = RmsNorm(embed.out, attn_norm.weight) eps=1e-05
const q.weight f32[32, 48]
q f32[rows, 32] = Linear(attn_norm, q.weight)
const k.weight f32[16, 48]
k f32[rows, 16] = Linear(attn_norm, k.weight)
const v.weight f32[16, 48]
const v.bias f32[16]
v f32[rows, 16] = Linear(attn_norm, v.weight, v.bias)
input past_k f32[past, 16]
input past_v f32[past, 16]
input past_len i32[1]
attn f32[rows, 32], attn.scores f32[2, rows, context] = Attention(q, k, v, past_k, past_v, past_len) heads=2 kv_heads=1 head_dim=16 scale=0.25 window=0 softcap=0
const o.weight f32[48, 32]
const o.bias f32[48]
o f32[rows, 48] = Linear(attn, o.weight, o.bias)
middle f32[rows, 48] = Add(embed.out, o)
const ffn_norm.weight f32[48]
ffn_norm f32[rows, 48] = RmsNorm(middle, ffn_norm.weight) eps=1e-05
const gate.weight f32[96, 48]
gate f32[rows, 96] = Linear(ffn_norm, gate.weight)
const up.weight f32[96, 48]
const up.bias f32[96]
up f32[rows, 96] = Linear(ffn_norm, up.weight, up.bias)
silu f32[rows, 96] = Silu(gate)
gated f32[rows, 96] = Mul(silu, up)
const down.weight f32[48, 96]
down f32[rows, 48] = Linear(gated, down.weight)
layers.0.out f32[rows, 48] = Add(middle, down)
output layers.0.out
output k
output v
)",
                                                                  R"(graph head
input layers.0.out f32[rows, 48]
const final_norm.weight f32[48]
final_norm f32[rows, 48] = RmsNorm(layers.0.out, final_norm.weight) eps=1e-05
const embed.weight f32[50, 48]
logits f32[rows, 50] = Linear(final_norm, embed.weight)
output logits
)"};

// Of a constant of kSmallDecoder; the same values for the same name. Channels of norms differ much.
inline Result<Tensor> SmallWeight(std::string_view name, const Shape& shape) {
  std::mt19937 random(static_cast<unsigned>(std::hash<std::string_view>()(name)));
  std::normal_distribution<float> normal;
  std::vector<float> values;
  const bool norm = name.ends_with("norm.weight");
  for (int64_t i = 0; i < shape.elements(); ++i)
    values.push_back(norm ? std::exp(normal(random)) : 0.2f * normal(random));
  return Tensor::FromFloats(std::move(values), shape);
}

// The shape that `text` declares a constant with.
inline Shape DeclaredShape(std::string_view text, std::string_view name) {
  const size_t line = text.find("const " + std::string(name) + " f32[");
  const size_t open = text.find('[', line), close = text.find(']', line);
  std::vector<int64_t> dims = {std::stoll(std::string(text.substr(open + 1)))};
  const size_t comma = text.find(',', open);
  if (comma < close) dims.push_back(std::stoll(std::string(text.substr(comma + 1))));
  return dims.size() == 1 ? Shape{dims[0]} : Shape{dims[0], dims[1]};
}

inline std::vector<Graph> SmallDecoder() {
  std::vector<Graph> units;
  for (const std::string_view text : kSmallDecoder) {
    const auto weight = [text](std::string_view name) {
      return SmallWeight(name, DeclaredShape(text, name));
    };
    Result<Graph> unit = Parse(text, "small decoder", weight);
    if (!unit) ADD_FAILURE() << unit.error().ToString();
    units.push_back(*std::move(unit));
  }
  return units;
}

// Logits [12, 50] of twelve tokens.
inline std::vector<float> LogitsOf(const std::vector<Graph>& units, const Observer& observer = {}) {
  DecoderRun run({{3, 1, 4, 15, 9, 2, 6, 5, 35, 8, 9, 7}});
  for (const Graph& unit : units) {
    const Result<void> done = run.Advance(unit, {}, observer);
    if (!done) ADD_FAILURE() << done.error().ToString();
  }
  return {run.hidden(0).begin(), run.hidden(0).end()};
}

}  // namespace hexlane::testing

#endif  // HEXLANE_QUANT_ALGORITHM_SMALL_DECODER_H_
