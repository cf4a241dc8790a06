#include "base/scheme.h"

#include <iterator>

namespace hexlane {
namespace {
constexpr Scheme kAll[] = {
#define SCHEME(Name, text, bits, block, kind) Scheme::k##Name,
#include "base/schemes.def"
#undef SCHEME
};
}  // namespace

std::span<const Scheme> AllSchemes() { return kAll; }

Scheme WithBlocksThatDivide(Scheme scheme, int64_t columns) {
  const SchemeInfo& want = Info(scheme);
  if (want.block == 0 || columns % want.block == 0) return scheme;
  Scheme best = scheme;
  for (const Scheme other : AllSchemes()) {
    const SchemeInfo& info = Info(other);
    if (info.bits != want.bits || info.scale != want.scale || info.block == 0) continue;
    if (info.block > want.block || columns % info.block != 0) continue;
    if (best == scheme || info.block > Info(best).block) best = other;
  }
  return best;
}

std::optional<Scheme> SchemeFromName(std::string_view name) {
  for (size_t i = 0; i < std::size(kSchemeRows); ++i)
    if (kSchemeRows[i].name == name) return static_cast<Scheme>(i);
  return std::nullopt;
}

}  // namespace hexlane
