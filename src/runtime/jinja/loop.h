// for loops and the `loop` variable.
#ifndef HEXLANE_RUNTIME_JINJA_LOOP_H_
#define HEXLANE_RUNTIME_JINJA_LOOP_H_

#include "runtime/jinja/ast.h"

namespace hexlane::jinja {

// Runs the body once for each item that passes the condition, or the else block. `depth`:
// recursions so far.
Result<Flow> RunLoop(const For& loop, Frame& frame, SequenceRef items, int depth);

}  // namespace hexlane::jinja

#endif  // HEXLANE_RUNTIME_JINJA_LOOP_H_
