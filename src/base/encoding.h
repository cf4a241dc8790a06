// How an activation value is represented: real = (q + offset) * scale for integer dtypes (QNN's
// convention: offset is the negated zero point); scale and offset are unused for F32 and F16.
#ifndef HEXLANE_BASE_ENCODING_H_
#define HEXLANE_BASE_ENCODING_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/dtype.h"

namespace hexlane {

struct Encoding {
  DType dtype = DType::kF32;
  float scale = 0;
  int32_t offset = 0;

  // Whether values become integers: U8, I8, U16 or I16.
  bool is_integer() const {
    return dtype == DType::kU8 || dtype == DType::kI8 || dtype == DType::kU16 ||
           dtype == DType::kI16;
  }
  friend bool operator==(const Encoding&, const Encoding&) = default;
};

// The integers that an element of U8, I8, U16 or I16 can hold. Not for other dtypes.
struct IntegerRange {
  int32_t min = 0;
  int32_t max = 0;
};
IntegerRange RangeOf(DType dtype);

// The bytes of `values` in `encoding`, one element after the other, in the machine's byte order.
//   integer  q = clamp(rint(value / scale) - offset), half to even, computed in double; NaN becomes
//            the largest q
//   F16      round to nearest even; past 65504 becomes infinity, so that overflow stays visible
//   F32      a copy
// bytes.size() must be values.size() * DTypeBytes(dtype); bytes need no alignment. Not for other
// dtypes.
void EncodeValues(std::span<const float> values, const Encoding& encoding,
                  std::span<std::byte> bytes);
// The inverse: q becomes (q + offset) * scale in float32. BF16 too, for weights of checkpoints.
void DecodeValues(std::span<const std::byte> bytes, const Encoding& encoding,
                  std::span<float> values);
// DecodeValues(EncodeValues(values)), in place and without the bytes.
void FakeQuantize(std::span<float> values, const Encoding& encoding);

}  // namespace hexlane

#endif  // HEXLANE_BASE_ENCODING_H_
