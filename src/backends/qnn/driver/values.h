// Floats to and from the elements of a QNN tensor.
#ifndef HEXLANE_BACKENDS_QNN_DRIVER_VALUES_H_
#define HEXLANE_BACKENDS_QNN_DRIVER_VALUES_H_

#include <span>
#include <vector>

#include "backends/qnn/driver/tensor.h"

namespace hexlane::qnn {

// f16, f32, i32, u32, or fixed point with a PerTensor quant: q = clamp(round(x / scale) - offset).
// Rounds half to even; NaN becomes the code of 0. `out` is values.size() * ElementBytes(spec.type)
// long.
void EncodeValues(const TensorSpec& spec, std::span<const float> values, std::span<std::byte> out);
void DecodeValues(const TensorSpec& spec, std::span<const std::byte> bytes, std::span<float> out);

inline std::vector<std::byte> Encoded(const TensorSpec& spec, std::span<const float> values) {
  std::vector<std::byte> out(values.size() * ElementBytes(spec.type));
  EncodeValues(spec, values, out);
  return out;
}

}  // namespace hexlane::qnn

#endif  // HEXLANE_BACKENDS_QNN_DRIVER_VALUES_H_
