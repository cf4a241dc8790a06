// How weights become integers, by name: steps joined by '+', e.g. "search+gptq".
#ifndef HEXLANE_QUANT_ALGORITHM_ALGORITHM_H_
#define HEXLANE_QUANT_ALGORITHM_ALGORITHM_H_

#include <string>
#include <string_view>

#include "hexlane/status.h"

namespace hexlane {

struct Algorithm {
  bool search = false;  // scales by search (SearchScales) instead of by the scheme's rule
  bool gptq = false;    // rounding with compensation (Gptq) instead of to nearest

  // Whether it looks at what the matrices multiply.
  bool needs_moments() const { return search || gptq; }
  std::string name() const;  // "rtn" for neither
};

// "rtn", or steps in any order. kUsage lists them.
Result<Algorithm> ParseAlgorithm(std::string_view text);

}  // namespace hexlane

#endif  // HEXLANE_QUANT_ALGORITHM_ALGORITHM_H_
