// Emits parts of a model: several at a time where they are compiled in child processes and fit into
// memory together, and none that an earlier, killed run has finished.
#ifndef HEXLANE_COMPILER_PARTS_H_
#define HEXLANE_COMPILER_PARTS_H_

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "backends/emitter.h"
#include "compiler/journal.h"

namespace hexlane {

struct PartTask {
  std::string backend;
  EmitArgs args;            // of Emitter::Emit
  size_t memory_bytes = 0;  // of compiling, as Emitter::Cost estimates it; 0: next to none
};

struct PartOptions {
  size_t memory = 0;                 // bytes that all parts compiled at the same time may take
  size_t limit = 0;                  // at which compilers are stopped, all together; 0: never
  const Journal* journal = nullptr;  // finished parts, of this run or of a killed one; may be null
  Progress progress;                 // over all parts; may be empty
};

// One part, with the limit and progress in its arguments.
Result<EmitResult> EmitPart(const PartTask& task, const Journal* journal);

// All of them, in any order; the results are in the tasks' order. Limit and progress of the tasks'
// arguments are set here. After the first error no further part is begun.
Result<std::vector<EmitResult>> EmitParts(std::vector<PartTask> tasks, const PartOptions& options);

// The record of a finished part, in the folder it is written to. `stem` is of its EmitArgs.
std::filesystem::path PartRecord(std::string_view stem);

}  // namespace hexlane

#endif  // HEXLANE_COMPILER_PARTS_H_
