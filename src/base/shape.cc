#include "base/shape.h"

namespace hexlane {

Result<int64_t> CheckedElements(std::span<const int64_t> dims) {
  int64_t n = 1;
  for (int64_t d : dims) {
    if (d < 0) return Corrupt("negative dimension {}", d);
    if (__builtin_mul_overflow(n, d, &n))
      return Corrupt("the number of elements overflows").Want("at most 2^63-1");
  }
  return n;
}

}  // namespace hexlane
