#include "op/op.h"

#include <iterator>

#include "op/shape_rules.h"

namespace hexlane {
namespace {
const OpDef kOps[] = {
#define OP(Name, inputs, optional, outputs, AttrsType, Rule) \
  {OpKind::k##Name, #Name, inputs, optional, outputs, AttrsType{}, shape_rules::Rule},
#include "op/ops.def"
#undef OP
};
}  // namespace

const OpDef& Def(OpKind kind) { return kOps[static_cast<size_t>(kind)]; }
std::span<const OpDef> AllOps() { return kOps; }

std::optional<OpKind> OpFromName(std::string_view name) {
  for (const OpDef& def : kOps)
    if (def.name == name) return def.kind;
  return std::nullopt;
}

}  // namespace hexlane
