// How weights become integers, by name: steps joined by '+', e.g. "rotate+gptq".
#ifndef HEXLANE_QUANT_ALGORITHM_ALGORITHM_H_
#define HEXLANE_QUANT_ALGORITHM_ALGORITHM_H_

#include <string>
#include <string_view>

#include "hexlane/status.h"

namespace hexlane {

// In the order in which they are done.
struct Algorithm {
  bool rotate = false;  // hidden states and attention's values in another basis (RotateUnit)
  bool smooth = false;  // ranges of inputs into weights (MigrateScales)
  bool awq = false;     // scales that favour the inputs' large channels (MigrateScales)
  bool search = false;  // scales by search (SearchScales) instead of by the scheme's rule
  bool gptq = false;    // rounding with compensation (Gptq) instead of to nearest
  bool bias = false;    // biases that make good for the mean error of the weights

  bool migrates() const { return smooth || awq; }
  // Whether it looks at what the matrices multiply.
  bool needs_moments() const { return smooth || awq || search || gptq || bias; }
  bool is_nearest() const { return !rotate && !needs_moments(); }
  std::string name() const;  // "rtn" for none of them

  friend bool operator==(const Algorithm&, const Algorithm&) = default;
};

// "rtn", or steps in any order. kUsage lists them.
Result<Algorithm> ParseAlgorithm(std::string_view text);

}  // namespace hexlane

#endif  // HEXLANE_QUANT_ALGORITHM_ALGORITHM_H_
