// What runs a part of a plan: load, bind, run, profile; no policy. One Executor per part, immutable
// after loading; all that changes (the KV cache, I/O buffers) is in its ExecutorState, of which a
// Session owns one per part.
#ifndef HEXLANE_BACKENDS_EXECUTOR_H_
#define HEXLANE_BACKENDS_EXECUTOR_H_

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/thread_pool.h"
#include "hexlane/power.h"
#include "package/package.h"

namespace hexlane {

// Seconds spent, added up over runs.
struct RunTimes {
  double copy = 0;  // host buffers to and from the backend's own, conversions included
  double execute = 0;
};

// Called with a named intermediate value of the valid rows: [rows, dim], float32. For dump and
// verify only.
using ValueObserver = std::function<void(std::string_view name, std::span<const float> values)>;

struct RunArgs {
  StageShape stage;  // one of the variant's; rows.size() ≤ stage.rows
  int rows = 1;      // valid rows
  int64_t past_len =
      0;  // cached positions to attend to, ≤ stage.past(); new rows are stored after them
  std::span<const int32_t> ids;  // [rows], for the part whose input is "ids"
  std::span<const float> input;  // [rows, hidden], for the others
  std::span<float> output;       // [rows, hidden], or for "logits": [vocab] of the last row, [rows,
                                 // vocab] if all_logits
  bool all_logits = false;       // kUnsupported where the compiled graph computes the last row only
  const ValueObserver* observer = nullptr;
  RunTimes* times = nullptr;
};

class ExecutorState {
 public:
  virtual ~ExecutorState() = default;
};

class Executor {
 public:
  virtual ~Executor() = default;
  // Allocates everything that running needs, for the variant's largest context.
  virtual Result<std::unique_ptr<ExecutorState>> NewState() const = 0;
  // Runs one stage over `rows` tokens. Thread-compatible: one run at a time per state (and per
  // Executor).
  virtual Result<void> Run(ExecutorState& state, const RunArgs& args) const = 0;
  // Asks the device for speed or thrift, until the next call; from any thread. kUnsupported where
  // there is nobody to ask, once and for all; other errors may pass.
  virtual Result<void> SetPowerMode(PowerMode) const {
    return Unsupported("this backend has no power modes");
  }
  // Takes from the device what can be put there again: the next Run does, and states stay valid.
  // Never at the same time as a Run.
  virtual void Release() const {}
};

struct LoadArgs {
  std::shared_ptr<const Package> package;
  const Variant* variant = nullptr;
  const Part* part = nullptr;
  ThreadPool* pool = nullptr;  // outlives the Executor
  std::string vendor_library;  // --qnn; empty: search
  std::string skel_dir;        // where the DSP's libraries are; empty: beside vendor_library
};

}  // namespace hexlane

#endif  // HEXLANE_BACKENDS_EXECUTOR_H_
