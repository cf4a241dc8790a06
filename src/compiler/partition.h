// Which backend runs which units, and where a run of units is cut into shards.
#ifndef HEXLANE_COMPILER_PARTITION_H_
#define HEXLANE_COMPILER_PARTITION_H_

#include <span>
#include <string>
#include <vector>

#include "backends/emitter.h"

namespace hexlane {

// What this process takes while its children compile.
inline constexpr size_t kOwnBytes = 256u << 20;

// What is left for the parts' compilers when all processes together may take `memory`; 0, no limit,
// of 0.
size_t MemoryForParts(size_t memory);

struct UnitRun {
  std::string backend;
  int first = 0;
  int count = 0;
  UnitCost cost;
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
  size_t memory = 0;              // bytes that compiling may take: as given, or the default
};

struct PartitionOptions {
  std::string_view backend;        // preferred for every unit
  const Target* target = nullptr;  // null for the CPU
  size_t stage_count = 1;          // compiled together
  size_t memory = 0;  // bytes that compiling may take; 0: 1 GiB, or what two units need
};

// Units go to `backend` where it takes each of their nodes, to the CPU otherwise. An embedding is a
// table lookup: it stays on the CPU, which keeps a second copy of the largest matrix out of the
// NPU's binary. Runs are cut into as few shards as memory and the target's binaries allow, about
// equal in cost. kInvalidInput naming the unit that does not fit alone.
Result<Partition> PartitionUnits(const UnitSource& units, const PartitionOptions& options);

// Cuts consecutive costs into as few groups as possible with at most `limit` each, and those so
// that the largest is as small as possible. Returns the groups' sizes. Each cost is at most
// `limit`.
std::vector<int> CutEvenly(std::span<const size_t> costs, size_t limit);

}  // namespace hexlane

#endif  // HEXLANE_COMPILER_PARTITION_H_
