#ifndef HEXLANE_RUNTIME_LOAD_PROGRESS_H_
#define HEXLANE_RUNTIME_LOAD_PROGRESS_H_

#include "hexlane/engine.h"

namespace hexlane {

// kCancelled when the listener says so.
inline Result<void> Tell(const EngineOptions& options, const LoadProgress& progress) {
  if (!options.on_progress || options.on_progress(progress)) return {};
  return Cancelled("loading was cancelled: {}", LoadPhaseName(progress.phase));
}

}  // namespace hexlane

#endif  // HEXLANE_RUNTIME_LOAD_PROGRESS_H_
