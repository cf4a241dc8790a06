// Matrix products with float32 weights: what the reference evaluator and the quantisation tools
// use.
#ifndef HEXLANE_KERNELS_MATMUL_FLOAT_H_
#define HEXLANE_KERNELS_MATMUL_FLOAT_H_

#include "kernels/rows.h"

namespace hexlane {

class ThreadPool;

// y = x Wᵀ + bias. x [rows, k], w [n, k], bias [n] or empty, y [rows, n]. Runs on all threads of
// `pool` when given.
void MatMulFloat(ConstRows x, ConstRows w, std::span<const float> bias, Rows y,
                 ThreadPool* pool = nullptr);

}  // namespace hexlane

#endif  // HEXLANE_KERNELS_MATMUL_FLOAT_H_
