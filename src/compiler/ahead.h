// Compiles parts while later units are still being quantised, so that both have a processor. A part
// that is finished here is in the journal, where CompileVariant finds it; one that fails is left to
// CompileVariant, which says why.
#ifndef HEXLANE_COMPILER_AHEAD_H_
#define HEXLANE_COMPILER_AHEAD_H_

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "compiler/variant.h"

namespace hexlane {

class AheadCompiler {
 public:
  // Variants with their journal, and the partition that they will most probably have; those for the
  // CPU are passed over. Compiling a part may take `memory` bytes beside quantising; 0: any.
  AheadCompiler(std::vector<VariantArgs> variants, size_t memory);
  ~AheadCompiler() { Stop(); }

  // The units that are finished, from the first on: parts that lie within them can be compiled.
  void Offer(const UnitSource& units);
  // Begins no other part and waits for the one at work.
  void Stop();

 private:
  struct Task {
    VariantArgs args;
    UnitRun run;
  };
  void Work();

  std::vector<Task> tasks_;  // in the order in which their units become finished
  std::mutex mutex_;
  std::condition_variable changed_;
  UnitSource units_;
  bool stopped_ = false;
  std::thread thread_;
};

}  // namespace hexlane

#endif  // HEXLANE_COMPILER_AHEAD_H_
