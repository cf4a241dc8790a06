// Turns one unit's float graph into its quantised form: weights packed by the scheme, an Encoding
// on every activation.
#ifndef HEXLANE_QUANT_QUANTIZE_UNIT_H_
#define HEXLANE_QUANT_QUANTIZE_UNIT_H_

#include <functional>

#include "formats/checkpoint.h"
#include "ir/graph.h"
#include "quant/calibrate.h"
#include "quant/moments.h"
#include "quant/report.h"
#include "quant/schemes.h"

namespace hexlane {

struct QuantizeArgs {
  QuantOptions options;  // checked by CheckQuantOptions
  const ActivationRanges* ranges =
      nullptr;  // of this unit at least; needed for integer activations
  // Of what this unit's matrices multiply; needed where the algorithm looks at it.
  const MomentsByValue* moments = nullptr;
  // Of an embedding table that is the head too: what the head multiplies. null: it is rounded for
  // no input.
  const Moments* head_inputs = nullptr;
  // Of the head: that table as it was rounded. null: the head is rounded by itself.
  const Tensor* table = nullptr;
  // By name, the checkpoint's own values of a matrix that the unit holds in the checkpoint's
  // integers; an empty reader, or none: the same.
  std::function<RowReader(std::string_view weight)> stored_rows = {};
  ThreadPool* pool = nullptr;
  bool sketch = false;  // see SketchUnit
};

// Replaces the unit's weights and sets its encodings; afterwards it satisfies
// GraphStage::kQuantised.
//   matrices      by the scheme's `layers` or, for the embedding table and the weight that makes
//                 "logits", its `table` and `head`; stored blocks stay where the scheme keeps them.
//                 Layers whose columns the scheme's blocks do not divide get narrower ones
//   vectors       float32; with float16 activations rounded to float16 values
//   activations   F16, or U16 or U8 asymmetric over what QuantOptions::observer keeps of the
//                 calibrated range; F16 also where outliers would make the step too coarse for the
//                 ordinary values
//   logits        U16 among integers
//   residual      F16 always: a few of its channels are thousands of times larger than the rest
//                 (Sun et al. 2024, "Massive Activations in Large Language Models"), which no
//                 integer scale can serve
//   keys, values  of attention and its cache: symmetric, U16 with offset -32768 or U8 with offset
//                 -128 (HTP multiplies by nothing else); a cache input has the encoding of the
//                 value that is appended to it
//   scores        U16 over the calibrated range widened downwards by kMaskMargin
// Where options.overrides say otherwise they decide: a representation that they give is taken
// whatever the value's part, and a fixed range as it is, neither widened nor given up for F16.
// The same value has the same encoding in every unit because encodings depend on what calibration
// saw of it alone. kInvalidInput names a value without a range, or a weight that the scheme cannot
// hold.
Result<UnitReport> QuantizeUnit(Graph& unit, const QuantizeArgs& args);

// What QuantizeUnit makes of a unit but for its numbers: weights of the same schemes and sizes
// whose bytes are 0, encodings of some ordinary range. For plans made before the work; takes a
// moment and needs no ranges.
Result<void> SketchUnit(Graph& unit, const QuantOptions& options);

// A masked score saturates at the bottom of its encoding, this far below any visible one: its
// probability is below e^-16 of the row's largest, which a 16-bit probability rounds to 0.
inline constexpr float kMaskMargin = 16;

}  // namespace hexlane

#endif  // HEXLANE_QUANT_QUANTIZE_UNIT_H_
