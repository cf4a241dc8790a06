// The ops of the IR: one OpDef per row of ops.def.
#ifndef HEXLANE_OP_OP_H_
#define HEXLANE_OP_OP_H_

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/shape.h"
#include "op/attrs.h"

namespace hexlane {

enum class OpKind : uint8_t {
#define OP(Name, inputs, optional, outputs, Attrs, Rule) k##Name,
#include "op/ops.def"
#undef OP
};

struct OpDef {
  OpKind kind;
  std::string_view name;
  int inputs;    // required
  int optional;  // further ones that may be left out
  int outputs;
  Attrs default_attrs;  // of the op's attribute type
  // Output shapes from attributes and input shapes; kInvalidInput when they do not fit.
  Result<std::vector<Shape>> (*shape_rule)(const Attrs& attrs, std::span<const Shape> inputs);
};

const OpDef& Def(OpKind kind);
std::span<const OpDef> AllOps();
std::optional<OpKind> OpFromName(std::string_view name);

}  // namespace hexlane

#endif  // HEXLANE_OP_OP_H_
