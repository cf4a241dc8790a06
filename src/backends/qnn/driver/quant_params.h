// Quant as the structs the library reads.
#ifndef HEXLANE_BACKENDS_QNN_DRIVER_QUANT_PARAMS_H_
#define HEXLANE_BACKENDS_QNN_DRIVER_QUANT_PARAMS_H_

#include <string_view>

#include "backends/qnn/driver/tensor.h"

namespace hexlane::qnn {

// kInvalidInput when the counts do not fit the shape or a block scale is out of range; names
// `tensor`.
Result<void> CheckQuant(const TensorSpec& spec, std::string_view tensor);

// Points into `quant` and `*expansion`, which must outlive the result. `quant` must have passed
// CheckQuant.
abi::QuantizeParams ToQuantizeParams(const Quant& quant, abi::BlockExpansion* expansion);

}  // namespace hexlane::qnn

#endif  // HEXLANE_BACKENDS_QNN_DRIVER_QUANT_PARAMS_H_
