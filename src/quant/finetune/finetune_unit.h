// Block-wise reconstruction: a quantised unit's weights are trained until it gives, for the hidden
// states that the quantised model has, what the float unit gives for the float model's.
// Li et al. 2021, "BRECQ: Pushing the Limit of Post-Training Quantization by Block Reconstruction";
// weights and scales together as Chen et al. 2024, "EfficientQAT", section 3.2.
#ifndef HEXLANE_QUANT_FINETUNE_FINETUNE_UNIT_H_
#define HEXLANE_QUANT_FINETUNE_FINETUNE_UNIT_H_

#include <functional>

#include "hexlane/finetune.h"
#include "interp/decoder_run.h"
#include "ir/graph.h"
#include "quant/report.h"

namespace hexlane {

struct FinetuneArgs {
  FinetuneOptions options;
  const Graph* original = nullptr;      // the unit before it was quantised
  const DecoderRun* inputs = nullptr;   // at the quantised unit, of the quantised model
  const DecoderRun* targets = nullptr;  // behind the original unit, of the float model
  bool vectors_as_f16 = false;          // norm weights and biases ship in float16
  ThreadPool* pool = nullptr;
  std::function<void(double fraction)> progress;  // may be empty
};

// A window in eight, at least one, is held out: it decides when to stop and what to keep.
inline constexpr size_t kHeldOutOf = 8;

// Trains what QuantizeUnit made of the unit, in place: the matrices' integers and scales, norm
// weights and biases. Where nothing better is found on the held-out windows, the unit stays as it
// is. The report gets what became of the error, and the matrices' new signal-to-noise ratios. Units
// without matrices of layers stay. Memory: docs/quant.md.
// kInvalidInput with fewer than two windows; kCancelled.
Result<void> FinetuneUnit(Graph& quantised, const FinetuneArgs& args, UnitReport& report);

}  // namespace hexlane

#endif  // HEXLANE_QUANT_FINETUNE_FINETUNE_UNIT_H_
