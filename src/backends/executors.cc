#include "backends/executors.h"

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

Result<std::unique_ptr<Executor>> LoadExecutor(const LoadArgs& args) {
  const std::string& backend = args.part->backend;
#define BACKEND(name, Name)         \
  if constexpr (HEXLANE_HAS_##name) \
    if (backend == #name) return Load##Name##Executor(args);
#include "backends/backends.def"
#undef BACKEND
  return Unsupported("this program has no backend '{}'", backend).Want("one of: {}", Names());
}

}  // namespace hexlane
