// Which part of what calibration saw an encoding is made for: all of it, or less in smaller steps.
#ifndef HEXLANE_QUANT_OBSERVE_RANGE_RULE_H_
#define HEXLANE_QUANT_OBSERVE_RANGE_RULE_H_

#include <string>
#include <string_view>

#include "quant/encodings.h"
#include "quant/observe/histogram.h"

namespace hexlane {

// An observer by name, as a user gives it.
//   minmax      all of it
//   percentile  without the (100 - p) / 2 percent of the elements that are least, and greatest
//   mse         the range with the least squared error of rounding and clipping
//   entropy     the range whose quantised distribution is closest to the one seen, by KL divergence
struct RangeRule {
  enum class Kind : uint8_t { kMinMax, kPercentile, kMse, kEntropy };
  Kind kind = Kind::kMinMax;
  double percentile = 99.99;  // of kPercentile

  std::string name() const;  // "percentile:99.9"
};
// "minmax", "percentile", "percentile:P" with 50 < P ≤ 100, "mse" or "entropy". kUsage lists them.
Result<RangeRule> ParseRangeRule(std::string_view text);

// What the range is for.
struct RangeUse {
  int bits = 16;
  bool symmetric = false;  // as far below 0 as above

  int levels() const { return 1 << bits; }
};

// The part of `seen`, the least and greatest element and 0, that the rule keeps; it holds 0.
// Without elements in the histogram, all of it.
MinMax ChooseRange(const RangeRule& rule, const RangeUse& use, const MinMax& seen,
                   const Histogram& histogram);

// Σ over the elements of (x - x̂)², where x̂ is the closest level of the encoding that FitAsymmetric
// or FitSymmetric makes of `range`, and the elements of a bin are spread evenly over it.
double SquaredError(const Histogram& histogram, const MinMax& range, const RangeUse& use);

// KL(P‖Q) of the histogram over the bins of `range`: P with the elements outside of it in its outer
// bins; Q without them, each of `levels` groups of bins evenly spread over those of its bins where
// P is not 0. Infinite where Q is 0 and P is not, and where the range has fewer bins than levels
// while there are elements outside. S. Migacz, "8-bit Inference with TensorRT", GPU Technology
// Conference 2017.
double Divergence(const Histogram& histogram, const MinMax& range, int levels);

}  // namespace hexlane

#endif  // HEXLANE_QUANT_OBSERVE_RANGE_RULE_H_
