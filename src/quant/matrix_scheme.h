// Which scheme a matrix gets.
#ifndef HEXLANE_QUANT_MATRIX_SCHEME_H_
#define HEXLANE_QUANT_MATRIX_SCHEME_H_

#include <string>

#include "ir/graph.h"
#include "quant/schemes.h"

namespace hexlane {

// What models call the embedding table, and a head that is another matrix.
inline constexpr std::string_view kTable = "embed.weight", kHead = "lm_head.weight";

inline bool IsLogits(const Graph& unit, const Node& node) { return unit.NameOf(node) == "logits"; }

// Whether a node has a matrix: its second input.
inline bool HasMatrix(const Node& node) {
  return node.op == OpKind::kLinear || node.op == OpKind::kEmbedding;
}

// Whether a node's matrix is the embedding table or the head's.
inline bool IsVocabulary(const Graph& unit, const Node& node) {
  return node.op == OpKind::kEmbedding || IsLogits(unit, node);
}

// The name that the matrix of a node is stored by. Where `splits_head` (RotateUnit), a head that is
// tied to the embedding table as built becomes a matrix of its own.
inline std::string MatrixNameOf(const Graph& unit, const Node& node, bool splits_head) {
  if (splits_head && IsLogits(unit, node)) return std::string(kHead);
  return unit.value(node.inputs[1]).name;
}

// What overrides say of the matrix of a node; null: nothing.
inline const TensorOverride* OverrideOf(const Graph& unit, const Node& node,
                                        const QuantOptions& options) {
  return options.overrides.OfMatrix(MatrixNameOf(unit, node, options.algorithm.rotate));
}

// Of the matrix of a node, unless it is one that the scheme keeps. A matrix whose columns the
// blocks do not divide gets narrower ones.
inline Scheme MatrixScheme(const Graph& unit, const Node& node, const QuantOptions& options) {
  const TensorOverride* by = OverrideOf(unit, node, options);
  const bool lone_table = node.op == OpKind::kEmbedding && options.lone_table;
  const Scheme scheme = by && by->weights          ? *by->weights
                        : lone_table               ? options.scheme->table
                        : IsVocabulary(unit, node) ? options.scheme->head
                                                   : options.scheme->layers;
  return WithBlocksThatDivide(scheme, unit.value(node.inputs[1]).shape[1]);
}

// Whether a vocabulary in this form is worth being rounded for what the head multiplies: it is many
// times a layer's matrix, and with 8 bits rounding to nearest is as good as any.
inline bool IsCoarse(Scheme scheme) { return scheme != Scheme::kPlain && Info(scheme).bits < 8; }

}  // namespace hexlane

#endif  // HEXLANE_QUANT_MATRIX_SCHEME_H_
