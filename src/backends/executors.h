// The executors of backends.def by name.
#ifndef HEXLANE_BACKENDS_EXECUTORS_H_
#define HEXLANE_BACKENDS_EXECUTORS_H_

#include <memory>

#include "backends/executor.h"

namespace hexlane {

// Loads args.part with the backend it names. kUnsupported lists the known names.
Result<std::unique_ptr<Executor>> LoadExecutor(const LoadArgs& args);

#define BACKEND(name, Name) Result<std::unique_ptr<Executor>> Load##Name##Executor(const LoadArgs&);
#include "backends/backends.def"
#undef BACKEND

}  // namespace hexlane

#endif  // HEXLANE_BACKENDS_EXECUTORS_H_
