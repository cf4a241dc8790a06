// Which backend runs which units.
#ifndef HEXLANE_COMPILER_PARTITION_H_
#define HEXLANE_COMPILER_PARTITION_H_

#include <string>
#include <vector>

#include "backends/emitter.h"

namespace hexlane {

struct UnitRun {
  std::string backend;
  int first = 0;
  int count = 0;
};

struct Refusal {
  std::string unit;    // layers.3
  std::string node;    // layers.3.attn
  std::string op;      // Attention
  std::string reason;  // the emitter's
};

struct Partition {
  std::vector<UnitRun> runs;      // consecutive, covering all units
  std::vector<Refusal> refusals;  // every node that `backend` cannot run, of all units at once
};

// Units go to `backend` where it takes each of their nodes, to the CPU otherwise. An embedding is a
// table lookup: it stays on the CPU, which keeps a second copy of the largest matrix out of the
// NPU's binary.
Result<Partition> PartitionUnits(const UnitSource& units, std::string_view backend,
                                 const Target* target);

}  // namespace hexlane

#endif  // HEXLANE_COMPILER_PARTITION_H_
