// The plan: who runs which units from which files, at which static shapes. Part of a package's
// manifest.
#ifndef HEXLANE_PACKAGE_PLAN_H_
#define HEXLANE_PACKAGE_PLAN_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"

namespace hexlane {

// One static shape: `rows` new tokens over a cache of `context` positions in all (past capacity:
// context - rows).
struct StageShape {
  int rows = 1;
  int context = 512;

  int past() const { return context - rows; }
  std::string name() const;  // "r128c512": the graph's or tape's name inside a file
  friend bool operator==(const StageShape&, const StageShape&) = default;
};

inline constexpr size_t kMaxStages = 64;  // of a variant

// A run of consecutive units on one backend, compiled for every stage of its variant.
struct Part {
  std::string backend;  // a row of backends.def: "cpu", "qnn"
  int first_unit = 0;
  int unit_count = 0;
  std::string input;   // value that enters: "ids" or the previous part's output
  std::string output;  // value that leaves: a hidden state or "logits"
  std::vector<std::string>
      files;  // in the package: one for all stages (shared weights), or one per stage
  std::string
      contract;  // in the package: the backend's own description (tensors, encodings); may be empty
  // What the NPU needs besides the files: of each context the largest of its graphs' spill-fill
  // buffers, summed over the files. None: not known.
  std::optional<int64_t> spill_fill_bytes = {};
};

// One way to run the whole model: on the CPU, on one SoC's HTP, on the workstation's HTP emulator.
struct Variant {
  std::string name;                // "cpu", "SM8650", "SM8650-emulator"
  std::string soc;                 // "" for the CPU
  std::vector<StageShape> stages;  // ascending rows
  std::vector<Part> parts;         // in execution order
};

// What the runtime must know of the model.
struct ModelShape {
  int layers = 0;
  int hidden = 0;
  int vocab = 0;
  int kv_heads = 0;
  int head_dim = 0;
  int max_context = 0;           // positions the checkpoint was trained for
  std::vector<int32_t> eos_ids;  // any of them ends generation
};

struct Plan {
  ModelShape model;
  std::vector<Variant> variants;

  const Variant* Find(std::string_view name) const;
};

// kCorrupt names the field. FromJson checks everything that execution relies on: counts, ranges,
// that parts are consecutive and cover all units (layers + 2), file names without "..".
Json ToJson(const Plan& plan);
Result<Plan> PlanFromJson(const Json& json, std::string_view where);

}  // namespace hexlane

#endif  // HEXLANE_PACKAGE_PLAN_H_
