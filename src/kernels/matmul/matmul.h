// The matrix product as the executor uses it: weights in any scheme or plain f32/f16, activations
// float32.
#ifndef HEXLANE_KERNELS_MATMUL_MATMUL_H_
#define HEXLANE_KERNELS_MATMUL_MATMUL_H_

#include <memory>

#include "base/tensor.h"
#include "kernels/matmul/quantized.h"

namespace hexlane {

class ThreadPool;

// Memory for quantised activations of up to max_rows × max_k, allocated once.
class QuantizedRowsBuffer {
 public:
  QuantizedRowsBuffer(int64_t max_rows, int64_t max_k);
  // Quantises x into the buffer; valid until the next call.
  QuantizedRows Quantize(ConstRows x, ThreadPool& pool);
  // The same memory as an empty view for rows × k.
  QuantizedRows View(int64_t rows, int64_t k) const;

 private:
  int64_t max_rows_, max_blocks_;
  std::shared_ptr<std::byte[]> memory_;
};

struct MatMulArgs {
  TensorView weights;           // packed [n, k]
  std::span<const float> bias;  // [n] or empty
  bool accumulate = false;      // y += instead of y =
};

// y [rows, n] (=, +=) x Wᵀ + bias, on all threads.
void MatMul(const QuantizedRows& x, const MatMulArgs& args, Rows y, ThreadPool& pool);

}  // namespace hexlane

#endif  // HEXLANE_KERNELS_MATMUL_MATMUL_H_
