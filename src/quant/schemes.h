// What a user asks for by name: which weights become which Scheme, and how activations are
// represented. One row of quant_schemes.def per name.
#ifndef HEXLANE_QUANT_SCHEMES_H_
#define HEXLANE_QUANT_SCHEMES_H_

#include <optional>
#include <span>
#include <string_view>

#include "base/dtype.h"
#include "base/scheme.h"
#include "hexlane/finetune.h"
#include "hexlane/status.h"
#include "quant/algorithm/algorithm.h"
#include "quant/observe/range_rule.h"
#include "quant/overrides.h"

namespace hexlane {

class Checkpoint;
struct Target;

struct QuantScheme {
  std::string_view name;            // "w4a16"
  Scheme layers = Scheme::kPlain;   // matrices of decoder layers; kPlain: float16
  Scheme head = Scheme::kPlain;     // lm_head, and the embedding table where that is the same
  Scheme table = Scheme::kPlain;    // the embedding table, where it is not
  DType activations = DType::kF16;  // kF16; kU16, kU8: an Encoding is fitted to each value
  bool keeps_stored = false;  // matrices whose integers Checkpoint::ReadKept keeps stay as they are
  std::string_view summary;

  bool needs_calibration() const { return activations != DType::kF16; }
};

std::span<const QuantScheme> AllQuantSchemes();
// kUsage lists the known names.
Result<const QuantScheme*> FindQuantScheme(std::string_view name);

// w4-exact for a checkpoint whose matrices are mostly stored in 4-bit integers that it keeps,
// otherwise w8a16.
const QuantScheme& DefaultQuantScheme(const Checkpoint& checkpoint);

// kInvalidInput where the scheme keeps stored integers and no matrix of the checkpoint is stored in
// some; says how they are stored. kUnsupported names a matrix whose groups are in an order of their
// own.
Result<void> CheckStorage(const QuantScheme& scheme, const Checkpoint& checkpoint);

struct QuantOptions {
  const QuantScheme* scheme = nullptr;
  int kv_bits = 16;     // of cached keys and values; 8 needs integer activations
  Algorithm algorithm;  // of the layers' matrices
  RangeRule observer;   // of integer activations
  Overrides overrides;  // exceptions from all of it
  std::optional<FinetuneOptions> finetune = {};  // what that gave is trained
  bool lone_table = false;  // whether the embedding table gets the scheme's `table`

  bool needs_calibration() const {
    return needs_ranges() || algorithm.needs_moments() || finetune.has_value();
  }
  // Whether some value becomes integers by what calibration sees.
  bool needs_ranges() const { return scheme->needs_calibration() || overrides.needs_calibration(); }
};
// kUsage when the options contradict each other or the target (null for the CPU) cannot run them.
Result<void> CheckQuantOptions(const QuantOptions& options, const Target* target);

}  // namespace hexlane

#endif  // HEXLANE_QUANT_SCHEMES_H_
