// Macros and the bodies of call blocks as values.
#ifndef HEXLANE_RUNTIME_JINJA_MACRO_H_
#define HEXLANE_RUNTIME_JINJA_MACRO_H_

#include "runtime/jinja/ast.h"

namespace hexlane::jinja {

// A callable that runs `body` in a new scope inside the one of `frame`.
Result<Value> MakeMacro(const MacroBody& body, Frame& frame);

}  // namespace hexlane::jinja

#endif  // HEXLANE_RUNTIME_JINJA_MACRO_H_
