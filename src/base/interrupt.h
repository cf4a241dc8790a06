// Ctrl-C as a value: long work asks Interrupted() between steps and returns a kCancelled Error, so
// that destructors clean up. The flag is process-wide because signals are.
#ifndef HEXLANE_BASE_INTERRUPT_H_
#define HEXLANE_BASE_INTERRUPT_H_

#include "hexlane/status.h"

namespace hexlane {

void CatchInterrupts();  // SIGINT and SIGTERM set the flag from now on; a second one ends the
                         // process
bool Interrupted();
Result<void> CheckInterrupt();  // kCancelled once interrupted

}  // namespace hexlane

#endif  // HEXLANE_BASE_INTERRUPT_H_
