#include "base/scheme.h"

#include <iterator>

namespace hexlane {
namespace {
constexpr SchemeInfo kRows[] = {
    {"plain"},
#define SCHEME(Name, text, bits, block, kind) {text, bits, block, ScaleKind::kind},
#include "base/schemes.def"
#undef SCHEME
};
}  // namespace

const SchemeInfo& Info(Scheme scheme) { return kRows[static_cast<size_t>(scheme)]; }

std::optional<Scheme> SchemeFromName(std::string_view name) {
  for (size_t i = 0; i < std::size(kRows); ++i)
    if (kRows[i].name == name) return static_cast<Scheme>(i);
  return std::nullopt;
}

}  // namespace hexlane
