// Floats to and from the elements of a QNN tensor.
#ifndef HEXLANE_BACKENDS_QNN_DRIVER_VALUES_H_
#define HEXLANE_BACKENDS_QNN_DRIVER_VALUES_H_

#include <optional>
#include <span>
#include <vector>

#include "backends/qnn/driver/tensor.h"
#include "base/encoding.h"

namespace hexlane::qnn {

// The encoding of f16, f32 and fixed-point tensors (8 and 16 bits); none for others.
std::optional<Encoding> EncodingOf(const TensorSpec& spec);
// A tensor of `shape` in `encoding` (F16, F32, U8, U16, I8 or I16).
TensorSpec SpecOf(const Encoding& encoding, Shape shape);

// As hexlane::EncodeValues. `spec` must have an encoding. `out` is values.size() elements long.
void EncodeValues(const TensorSpec& spec, std::span<const float> values, std::span<std::byte> out);
void DecodeValues(const TensorSpec& spec, std::span<const std::byte> bytes, std::span<float> out);

inline std::vector<std::byte> Encoded(const TensorSpec& spec, std::span<const float> values) {
  std::vector<std::byte> out(values.size() * ElementBytes(spec.type));
  EncodeValues(spec, values, out);
  return out;
}

}  // namespace hexlane::qnn

#endif  // HEXLANE_BACKENDS_QNN_DRIVER_VALUES_H_
