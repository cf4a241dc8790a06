// The emitters of backends.def by name. Compilers only: a device links executors.h alone.
#ifndef HEXLANE_BACKENDS_EMITTERS_H_
#define HEXLANE_BACKENDS_EMITTERS_H_

#include <memory>
#include <string_view>

#include "backends/emitter.h"

namespace hexlane {

// kUnsupported lists the known names.
Result<std::unique_ptr<Emitter>> NewEmitter(std::string_view backend);

#define BACKEND(name, Name) std::unique_ptr<Emitter> New##Name##Emitter();
#include "backends/backends.def"
#undef BACKEND

}  // namespace hexlane

#endif  // HEXLANE_BACKENDS_EMITTERS_H_
