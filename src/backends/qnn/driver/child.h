// Work with the vendor library in a child process: a crash in there becomes an Error, its memory
// goes back to the system at once, and this process never loads the library.
#ifndef HEXLANE_BACKENDS_QNN_DRIVER_CHILD_H_
#define HEXLANE_BACKENDS_QNN_DRIVER_CHILD_H_

#include <functional>
#include <string>

#include "backends/qnn/driver/activity.h"
#include "hexlane/status.h"

namespace hexlane::qnn {

// The child's end of the line to its parent.
class Child {
 public:
  Activity& activity() { return *activity_; }              // for GraphOptions
  void Progress(double fraction, std::string_view doing);  // 0..1; shown by the parent

 private:
  friend class ChildProcess;
  Activity* activity_ = nullptr;
  int pipe_ = -1;
};

struct ChildResult {
  std::string payload;        // what the work returned
  size_t peak_rss_bytes = 0;  // of the child
};

struct ChildOptions {
  std::string task = "compiling for QNN";  // for messages
  // Resident bytes of its own (no mapped files) with which the child is ended: kVendor. 0: any.
  size_t memory_limit = 0;
  std::function<void(double fraction, std::string_view doing)> progress;  // may be empty
};

// Forks, runs `work` in the child and returns its result or its Error. Standard output of the child
// goes to /dev/null. A crash or kill is kVendor "<task> crashed (signal 11, SIGSEGV) while adding
// Conv2d 'layers.3.…'"; Interrupted() in the parent kills the child: kCancelled. `work` runs on the
// only thread of the child and must not use thread pools made before.
Result<ChildResult> RunInChild(const std::function<Result<std::string>(Child&)>& work,
                               const ChildOptions& options = {});

}  // namespace hexlane::qnn

#endif  // HEXLANE_BACKENDS_QNN_DRIVER_CHILD_H_
