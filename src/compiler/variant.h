// Compiles a model's quantised units for one way of running: partition, emit each part, describe
// it.
#ifndef HEXLANE_COMPILER_VARIANT_H_
#define HEXLANE_COMPILER_VARIANT_H_

#include <map>
#include <string>
#include <vector>

#include "backends/emitter.h"
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
  Progress progress;
  // Verification: values to add as outputs, logits of all rows, and a run of the graph before it is
  // written.
  std::vector<std::string> taps;
  bool all_logits = false;
  Probe* probe = nullptr;  // given to the first part on `backend`
};

struct VariantResult {
  Variant variant;
  std::vector<Refusal> refusals;  // units that went to the CPU instead, and why
  std::map<std::string, std::string> versions;
  size_t child_peak_rss_bytes = 0;  // largest of the emitters' child processes
  double seconds = 0;
};

Result<VariantResult> CompileVariant(const VariantArgs& args);

}  // namespace hexlane

#endif  // HEXLANE_COMPILER_VARIANT_H_
