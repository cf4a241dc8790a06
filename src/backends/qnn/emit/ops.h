// The lowering of each op, listed in rules.cc. Refuse…: the reason why not, in words for the user,
// or nothing.
#ifndef HEXLANE_BACKENDS_QNN_EMIT_OPS_H_
#define HEXLANE_BACKENDS_QNN_EMIT_OPS_H_

#include "backends/qnn/emit/lowering.h"

namespace hexlane::qnn {

using Reason = std::optional<std::string>;

Reason RefuseLinear(const Graph& unit, const Node& node, const Target& target);
Result<void> LowerLinear(Lowering& lowering, const Node& node);

Reason RefuseRmsNorm(const Graph& unit, const Node& node, const Target& target);
Result<void> LowerRmsNorm(Lowering& lowering, const Node& node);

Reason RefuseRope(const Graph& unit, const Node& node, const Target& target);
Result<void> LowerRope(Lowering& lowering, const Node& node);

Reason RefuseAttention(const Graph& unit, const Node& node, const Target& target);
Result<void> LowerAttention(Lowering& lowering, const Node& node);

Result<void> LowerElementwise(Lowering& lowering, const Node& node);

Reason RefuseEmbedding(const Graph& unit, const Node& node, const Target& target);
Result<void> LowerEmbedding(Lowering& lowering, const Node& node);

// Whether a value is represented in f16 here (no encoding counts as f16).
bool IsFloat(const Value& value);
// "mixes f16 and fixed-point values" unless all of the node's activations are of one kind.
Reason RefuseMixed(const Graph& unit, const Node& node);

}  // namespace hexlane::qnn

#endif  // HEXLANE_BACKENDS_QNN_EMIT_OPS_H_
