// y = x Wᵀ with W [n, k] plain rows of float32, float16 or bfloat16, everything computed in
// float32.
#ifndef HEXLANE_KERNELS_MATMUL_PLAIN_H_
#define HEXLANE_KERNELS_MATMUL_PLAIN_H_

#include <cstddef>

#include "base/dtype.h"
#include "kernels/rows.h"

namespace hexlane {

struct PlainMatMulCall {
  ConstRows x;                   // [rows, k]
  const std::byte* w = nullptr;  // [n, k], aligned to its elements
  DType dtype = DType::kF32;     // kF32, kF16 or kBF16
  float* y = nullptr;            // y[r, c] is y[r * y_stride + c]
  int64_t y_stride = 0;
  const float* bias = nullptr;  // [n]
  bool accumulate = false;      // add to what y holds
};

// All rows of x with rows first … end - 1 of w: those columns of y.
using PlainMatMulFn = void(const PlainMatMulCall& call, int64_t first, int64_t end);

}  // namespace hexlane

#endif  // HEXLANE_KERNELS_MATMUL_PLAIN_H_
