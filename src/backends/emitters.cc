#include "backends/emitters.h"

namespace hexlane {
namespace {

// "cpu, qnn, …": the backends that this program was linked with.
std::string Names() {
  std::string names;
#define BACKEND(name, Name) \
  if (HEXLANE_HAS_##name) names += (names.empty() ? "" : ", ") + std::string(#name);
#include "backends/backends.def"
#undef BACKEND
  return names;
}

}  // namespace

Result<std::unique_ptr<Emitter>> NewEmitter(std::string_view backend) {
#define BACKEND(name, Name)         \
  if constexpr (HEXLANE_HAS_##name) \
    if (backend == #name) return New##Name##Emitter();
#include "backends/backends.def"
#undef BACKEND
  return Unsupported("this program has no backend '{}'", backend).Want("one of: {}", Names());
}

}  // namespace hexlane
