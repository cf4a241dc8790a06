// Which matrices belong to the vocabulary, and so have a scheme of their own.
#ifndef HEXLANE_QUANT_VOCABULARY_H_
#define HEXLANE_QUANT_VOCABULARY_H_

#include "ir/graph.h"

namespace hexlane {

// Whether a node's matrix is the embedding table or the head's.
inline bool IsVocabulary(const Graph& unit, const Node& node) {
  return node.op == OpKind::kEmbedding || unit.NameOf(node) == "logits";
}

}  // namespace hexlane

#endif  // HEXLANE_QUANT_VOCABULARY_H_
