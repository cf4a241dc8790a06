// Matrix products as the executor runs them: weights packed in any scheme or plain, activations
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
  QuantizedRowsBuffer(int64_t max_rows, int64_t max_k, ActivationBits bits);
  // Quantises x into the buffer; valid until the next call.
  QuantizedRows Quantize(ConstRows x, ThreadPool& pool);
  // The same memory seen as rows × k, contents undefined.
  QuantizedRows View(int64_t rows, int64_t k) const;

 private:
  int64_t max_rows_, max_blocks_;
  ActivationBits bits_;
  std::shared_ptr<std::byte[]> memory_;
};

// y (=, +=) x Wᵀ + bias.
struct MatMulTask {
  TensorView weights;           // [n, k]: packed, or plain f32, f16 or bf16
  std::span<const float> bias;  // [n] or empty
  bool accumulate = false;
  Rows y;  // [x.rows, n]
};

// All tasks share x [rows, k] and run as one loop over all threads. Allocates nothing. Weights must
// have passed CheckMatMulWeights; `buffer` must be large enough for x.
void MatMul(ConstRows x, std::span<const MatMulTask> tasks, QuantizedRowsBuffer& buffer,
            ThreadPool& pool);

// For weights of an untrusted file: kCorrupt or kUnsupported unless MatMul can multiply with them.
Result<void> CheckMatMulWeights(const TensorView& weights, std::string_view name);

}  // namespace hexlane

#endif  // HEXLANE_KERNELS_MATMUL_MATMUL_H_
