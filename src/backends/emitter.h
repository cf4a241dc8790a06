// What compiles a run of quantised units into the files of a Part. Refuses answers per node before
// any work, Cost lets the planner cut a model into parts; Emit does the work, reading units one at
// a time.
#ifndef HEXLANE_BACKENDS_EMITTER_H_
#define HEXLANE_BACKENDS_EMITTER_H_

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "package/plan.h"
#include "target/target.h"

namespace hexlane {

// Fraction done in [0, 1] and what is being done now.
using Progress = std::function<void(double fraction, std::string_view what)>;

// A model's quantised units, loaded when asked for and dropped after use.
struct UnitSource {
  int count = 0;
  std::function<Result<Graph>(int unit)> load;
  std::function<void()> drop_pages;  // gives memory of mapped weights back; may be empty
};

// Runs the freshly built graph once, in memory, before it is written (verification).
struct Probe {
  int stage = 0;             // index into EmitArgs::stages
  int rows = 0;              // valid rows, from position 0, empty cache
  std::vector<int32_t> ids;  // [rows] where the part's input is "ids"
  std::vector<float> input;  // [rows, hidden] otherwise
  std::map<std::string, std::vector<float>>
      outputs;  // filled: the part's output and every tap, [rows, dim]
};

struct EmitArgs {
  UnitSource units;
  int first_unit = 0;
  int unit_count = 0;
  std::vector<StageShape> stages;
  const Target* target = nullptr;   // null for the CPU
  bool share_weights = true;        // one file for all stages; otherwise one per stage
  bool all_logits = false;          // logits of every row, not only of the last valid one
  bool common_masks = false;        // masks are encoded alike in all parts of the model
  std::vector<std::string> taps;    // values to add as outputs
  std::filesystem::path directory;  // files are written below it …
  std::string graph_suffix;         // after the stages' names in the names of graphs
  std::string stem;                 // … as <stem>*.<ext>, e.g. "htp/SM8650"
  std::string vendor_library;       // --qnn; empty: search
  size_t memory_limit = 0;          // bytes that compiling may take; 0: no limit
  Progress progress;                // may be empty
  Probe* probe = nullptr;
};

struct EmitResult {
  std::vector<std::string> files;               // relative to `directory`, as for Part::files
  std::string contract;                         // relative; may be empty
  std::map<std::string, std::string> versions;  // of the vendor library
  std::optional<int64_t> spill_fill_bytes;      // as Part::spill_fill_bytes
  double seconds = 0;
  size_t peak_rss_bytes = 0;  // of the child process, where one was used
};

// What one unit adds to a part compiled for several stages.
struct UnitCost {
  size_t file_bytes = 0;
  size_t memory_bytes = 0;  // of the compiling process, at its peak
};

class Emitter {
 public:
  virtual ~Emitter() = default;
  // Nothing when this node can run on `target`; otherwise the reason why not.
  virtual std::optional<std::string> Refuses(const Graph& unit, const Node& node,
                                             const Target* target) const = 0;
  // An estimate, a little on the high side; zeros where parts need no limit.
  virtual UnitCost Cost(const Graph& unit, size_t stage_count) const = 0;
  virtual Result<EmitResult> Emit(const EmitArgs& args) const = 0;
};

}  // namespace hexlane

#endif  // HEXLANE_BACKENDS_EMITTER_H_
