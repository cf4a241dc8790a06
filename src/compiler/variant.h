// Compiles a model's quantised units for one way of running: partition, emit each part, describe
// it.
#ifndef HEXLANE_COMPILER_VARIANT_H_
#define HEXLANE_COMPILER_VARIANT_H_

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "backends/emitter.h"
#include "compiler/journal.h"
#include "compiler/partition.h"

namespace hexlane {

struct VariantArgs {
  UnitSource units;
  std::string name;                // of the variant: "cpu", "SM8650", "SM8650-emulator"
  std::string backend;             // preferred for every unit
  const Target* target = nullptr;  // null for the CPU
  std::vector<StageShape> stages;
  std::filesystem::path directory;  // parts are written to <directory>/<folder>/…
  std::string folder;               // "cpu", "htp", "emulator"
  bool share_weights = true;
  std::string vendor_library;
  Partition partition;               // of PartitionOf; empty: made by CompileVariant
  size_t memory = 0;                 // as in PartitionOptions
  const Journal* journal = nullptr;  // finished parts, of this run or of a killed one; may be null
  Progress progress;
  // Verification: values to add as outputs, logits of all rows, and a run of the graph before it is
  // written.
  std::vector<std::string> taps;
  bool all_logits = false;
  // Given to the parts on `backend` one after the other: what leaves one enters the next, through
  // `between` where other units lie between them (from `first` on, `count` of them).
  Probe* probe = nullptr;
  std::function<Result<void>(int first, int count, Probe& probe)> between;
};

struct VariantResult {
  Variant variant;
  std::vector<Refusal> refusals;  // units that went to the CPU instead, and why
  std::map<std::string, std::string> versions;
  size_t child_peak_rss_bytes = 0;  // largest of the emitters' child processes
  double seconds = 0;
};

Result<VariantResult> CompileVariant(const VariantArgs& args);

// One part alone, recorded in the journal for a later CompileVariant. `stem` is of PartStem.
// kUsage lists the parts on args.backend when it is none of them.
Result<void> CompilePart(const VariantArgs& args, std::string_view stem);

// What names a part, and its files begin with: htp/SM8650.1-3.
std::string PartStem(const VariantArgs& args, const UnitRun& run);

// Where CompileVariant will cut.
Result<Partition> PartitionOf(const VariantArgs& args);

}  // namespace hexlane

#endif  // HEXLANE_COMPILER_VARIANT_H_
