// How an activation value is represented: real = (q + offset) * scale for integer dtypes (QNN's
// convention: offset is the negated zero point); scale and offset are unused for F32 and F16.
#ifndef HEXLANE_BASE_ENCODING_H_
#define HEXLANE_BASE_ENCODING_H_

#include <cstdint>

#include "base/dtype.h"

namespace hexlane {

struct Encoding {
  DType dtype = DType::kF32;
  float scale = 0;
  int32_t offset = 0;

  friend bool operator==(const Encoding&, const Encoding&) = default;
};

}  // namespace hexlane

#endif  // HEXLANE_BASE_ENCODING_H_
