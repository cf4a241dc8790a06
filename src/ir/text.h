// Text form of a graph, one line per value or node; Print and Parse are inverse up to the data of
// constants.
//
//   graph layers.0
//   input embed.out f32[rows, 576] @u16(0.0012, -31000)
//   const layers.0.attn_norm.weight f32[576]
//   const layers.0.q_proj.weight w4-lpbq32[576, 576]
//   layers.0.attn_norm f32[rows, 576] @u16(0.001, -32768) = RmsNorm(embed.out,
//   layers.0.attn_norm.weight) eps=1e-05 layers.0.attn f32[rows, 576], layers.0.attn.scores f32[9,
//   rows, context] = Attention(...) heads=9 … output layers.0.out
#ifndef HEXLANE_IR_TEXT_H_
#define HEXLANE_IR_TEXT_H_

#include <functional>
#include <string>
#include <string_view>

#include "ir/graph.h"

namespace hexlane {

std::string Print(const Graph& graph);

// Gives the data of a constant by name; its shape, dtype and scheme must be those of the text.
using ConstantSource = std::function<Result<Tensor>(std::string_view name)>;

// kCorrupt with "<where>:<line>" for malformed text; the graph is verified as kBuilt.
Result<Graph> Parse(std::string_view text, std::string_view where, const ConstantSource& constants);

}  // namespace hexlane

#endif  // HEXLANE_IR_TEXT_H_
