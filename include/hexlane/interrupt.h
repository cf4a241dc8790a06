// Ctrl-C as a value: long work asks between its steps whether to go on and returns kCancelled once
// it has cleaned up. The flag is process-wide because signals are.
#ifndef HEXLANE_INTERRUPT_H_
#define HEXLANE_INTERRUPT_H_

#include "hexlane/status.h"

namespace hexlane {

// From now on SIGINT, SIGTERM and, unless ignored, SIGHUP set the flag; a second one ends the
// process.
void CatchInterrupts();
bool Interrupted();             // since CatchInterrupts
Result<void> CheckInterrupt();  // kCancelled once interrupted

}  // namespace hexlane

#endif  // HEXLANE_INTERRUPT_H_
