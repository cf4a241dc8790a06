// Matrix products with plain weights: what the reference evaluator and the quantisation tools
// use.
#ifndef HEXLANE_KERNELS_MATMUL_FLOAT_H_
#define HEXLANE_KERNELS_MATMUL_FLOAT_H_

#include "base/tensor.h"
#include "kernels/rows.h"

namespace hexlane {

class ThreadPool;

// y = x Wᵀ + bias, computed in float32. x [rows, k]; w [n, k], plain: float32, float16 or bfloat16,
// read as it is; bias [n] or empty; y [rows, n]. Runs on all threads of `pool` when given.
void MatMulFloat(ConstRows x, const TensorView& w, std::span<const float> bias, Rows y,
                 ThreadPool* pool = nullptr);

// y += x wᵀ in float32. x: [rows, k], w: [n, k], y: [rows, n], none aliasing y; `pool` may be null.
void AddProduct(ConstRows x, ConstRows w, Rows y, ThreadPool* pool);

}  // namespace hexlane

#endif  // HEXLANE_KERNELS_MATMUL_FLOAT_H_
