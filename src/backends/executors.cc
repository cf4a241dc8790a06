#include "backends/executors.h"

#include "backends/linked_names.h"

namespace hexlane {

Result<std::unique_ptr<Executor>> LoadExecutor(const LoadArgs& args) {
  const std::string& backend = args.part->backend;
#define BACKEND(name, Name)         \
  if constexpr (HEXLANE_HAS_##name) \
    if (backend == #name) return Load##Name##Executor(args);
#include "backends/backends.def"
#undef BACKEND
  return Unsupported("this program has no backend '{}'", backend).Want("one of: {}", LinkedNames());
}

}  // namespace hexlane
