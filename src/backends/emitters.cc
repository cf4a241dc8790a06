#include "backends/emitters.h"

#include "backends/linked_names.h"

namespace hexlane {

Result<std::unique_ptr<Emitter>> NewEmitter(std::string_view backend) {
#define BACKEND(name, Name)         \
  if constexpr (HEXLANE_HAS_##name) \
    if (backend == #name) return New##Name##Emitter();
#include "backends/backends.def"
#undef BACKEND
  return Unsupported("this program has no backend '{}'", backend).Want("one of: {}", LinkedNames());
}

}  // namespace hexlane
