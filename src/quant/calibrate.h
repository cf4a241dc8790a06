// Calibration: float32 runs over token windows record what every activation value looks like.
#ifndef HEXLANE_QUANT_CALIBRATE_H_
#define HEXLANE_QUANT_CALIBRATE_H_

#include <algorithm>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "interp/decoder_run.h"
#include "quant/encodings.h"
#include "quant/moments.h"
#include "quant/observe/range_rule.h"
#include "quant/observe/row_watch.h"

namespace hexlane {

// Least, greatest and mean absolute element of a value over all windows; unlike MinMax it need not
// hold 0. Rows and histogram are those of the latest unit and its inputs only: memory is the same
// for any depth.
struct ActivationRange {
  float min = std::numeric_limits<float>::max();
  float max = std::numeric_limits<float>::lowest();
  double sum_abs = 0;
  int64_t count = 0;
  RowWatch rows;
  Histogram histogram;

  double mean_abs() const { return count ? sum_abs / static_cast<double>(count) : 0; }
  // Every element was the same number: a sign of a broken checkpoint or graph.
  bool constant() const { return min == max; }
  MinMax with_zero() const { return {min < 0 ? min : 0, max > 0 ? max : 0}; }
  // Share of the elements, 0 where the histogram is not kept any more.
  double ShareOutside(const RealRange& held) const {
    if (held.holds(min) && held.holds(max)) return 0;
    const double one = 1 / static_cast<double>(count);  // at least, whatever its bin's middle says
    return histogram.count() == 0 ? 0 : std::max(one, histogram.ShareOutside(held.low, held.high));
  }
  MinMax Chosen(const RangeRule& rule, const RangeUse& use) const {
    return ChooseRange(rule, use, with_zero(), histogram);
  }
};
using ActivationRanges = std::map<std::string, ActivationRange, std::less<>>;  // by value name

// `ids` in windows of `window` tokens, the first `max_windows` of them. A text shorter than one
// window gives one short window; otherwise the rest past the last whole window is dropped.
std::vector<std::vector<int32_t>> CalibrationWindows(std::span<const int32_t> ids, size_t window,
                                                     size_t max_windows);

// Goes through a decoder unit by unit: each unit runs over all windows before the next, so memory
// is one unit plus the hidden states of all windows.
class Calibrator {
 public:
  // Every window starts at position 0 with an empty cache. `pool` outlives the calibrator; may be
  // null.
  explicit Calibrator(std::vector<std::vector<int32_t>> windows, ThreadPool* pool = nullptr);

  // Runs the next unit, with the checkpoint's own weights, and records its values. Of the last unit
  // the output is not kept. kInvalidInput naming the value that is not finite; kCancelled.
  Result<void> Advance(const Graph& unit, bool is_last);
  // The same in two steps, for algorithms whose later units make good for what rounding the earlier
  // ones cost. Observe records the next unit and what its matrices multiply, and may be called
  // again for the unit with other weights: only the last time counts. Follow goes on through the
  // unit as it was quantised.
  Result<void> Observe(const Graph& unit, MomentsByValue& moments);
  Result<void> Follow(const Graph& quantised);

  // Of all units so far, inputs and outputs included; empty caches are left out.
  const ActivationRanges& ranges() const { return ranges_; }

  // Where it is: before the first unit, or behind the last one advanced or followed.
  const DecoderRun& run() const { return run_; }

  // All that later units depend on, as bytes: ranges and hidden states. Restore takes up what Save
  // gave, in a calibrator of the same windows (kCorrupt otherwise).
  std::string Save() const;
  Result<void> Restore(std::string_view saved);

 private:
  Result<void> Run(const Graph& unit, MomentsByValue* moments, bool keep_output);
  void ForgetEarlierUnits(const Graph& unit);
  Result<void> Record(const Value& value, std::span<const float> values);

  DecoderRun run_;
  ThreadPool* pool_;
  bool inputs_differ_ = false;  // otherwise rows need not either
  ActivationRanges ranges_;
};

}  // namespace hexlane

#endif  // HEXLANE_QUANT_CALIBRATE_H_
