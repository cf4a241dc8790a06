// Shape rules named in ops.def. Inputs have been counted already; shapes may hold symbols (dims.h).
#ifndef HEXLANE_OP_SHAPE_RULES_H_
#define HEXLANE_OP_SHAPE_RULES_H_

#include <span>
#include <vector>

#include "base/shape.h"
#include "op/attrs.h"

namespace hexlane::shape_rules {

using Shapes = Result<std::vector<Shape>>;

Shapes EmbeddingShape(const Attrs& attrs, std::span<const Shape> inputs);
Shapes LinearShape(const Attrs& attrs, std::span<const Shape> inputs);
Shapes RmsNormShape(const Attrs& attrs, std::span<const Shape> inputs);
Shapes RopeShape(const Attrs& attrs, std::span<const Shape> inputs);
Shapes AttentionShape(const Attrs& attrs, std::span<const Shape> inputs);
Shapes SameAsInputs(const Attrs& attrs, std::span<const Shape> inputs);

}  // namespace hexlane::shape_rules

#endif  // HEXLANE_OP_SHAPE_RULES_H_
