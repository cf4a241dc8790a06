// Which scheme a matrix gets.
#ifndef HEXLANE_QUANT_MATRIX_SCHEME_H_
#define HEXLANE_QUANT_MATRIX_SCHEME_H_

#include "ir/graph.h"
#include "quant/schemes.h"

namespace hexlane {

inline bool IsLogits(const Graph& unit, const Node& node) { return unit.NameOf(node) == "logits"; }

// Whether a node's matrix is the embedding table or the head's.
inline bool IsVocabulary(const Graph& unit, const Node& node) {
  return node.op == OpKind::kEmbedding || IsLogits(unit, node);
}

// Of the matrix that `node`, a Linear or an Embedding, reads. Layers whose columns the blocks do
// not divide get narrower ones.
inline Scheme MatrixScheme(const Graph& unit, const Node& node, const QuantScheme& by) {
  if (IsVocabulary(unit, node)) return by.vocabulary;
  return WithBlocksThatDivide(by.layers, unit.value(node.inputs[1]).shape[1]);
}

}  // namespace hexlane

#endif  // HEXLANE_QUANT_MATRIX_SCHEME_H_
