// What a variant takes of memory, by its plan and the sizes of its files.
#ifndef HEXLANE_RUNTIME_MEMORY_NEED_H_
#define HEXLANE_RUNTIME_MEMORY_NEED_H_

#include "hexlane/engine.h"
#include "hexlane/memory_need.h"
#include "package/package.h"

namespace hexlane {

// With a cache of `context` positions.
Result<MemoryNeed> NeedOf(const Package& package, const Variant& variant, int context);

// kEnvironment, with all figures, when the variant needs more than options.memory_limit or, without
// one, than the system has available.
Result<void> CheckMemory(const Package& package, const Variant& variant,
                         const EngineOptions& options);

}  // namespace hexlane

#endif  // HEXLANE_RUNTIME_MEMORY_NEED_H_
