// A weight tensor of a checkpoint in the form that ships, a few thousand rows at a time so that a
// large table is never whole in float32.
#ifndef HEXLANE_QUANT_QUANTIZE_TENSOR_H_
#define HEXLANE_QUANT_QUANTIZE_TENSOR_H_

#include <optional>
#include <string_view>
#include <vector>

#include "base/tensor.h"
#include "formats/checkpoint.h"
#include "hexlane/status.h"

namespace hexlane {

class Gptq;
class Moments;
class ThreadPool;

// How a matrix is made integers; by default to nearest, with scales by the scheme's rule.
struct WeightFit {
  const Moments* search = nullptr;  // of what the matrix multiplies: scales by search
  bool search_evenly = false;       // scales by search, every column counting alike
  const Gptq* gptq = nullptr;       // rounding with compensation
  const Moments* mean = nullptr;    // of what it multiplies: its mean error is given back
};

struct QuantizedTensor {
  Tensor tensor;                 // packed by kernels/pack, or plain float16 for kPlain
  std::optional<double> snr_db;  // 10 log10(Σ w² / Σ error²); none when nothing was lost
  // (W - Ŵ) · mean input: what the outputs lack on average; [n], or empty without WeightFit::mean.
  std::vector<float> shift;
};

// The matrix `weight` [n, k], in whatever form, in `scheme`. kInvalidInput naming `name`, row and
// column of a value that the scheme cannot hold (float16: beyond 65504).
Result<QuantizedTensor> QuantizeTensor(const TensorView& weight, Scheme scheme,
                                       std::string_view name, ThreadPool* pool,
                                       const WeightFit& fit = {});

// Of the values that `stored` reads over what `packed` lost of them; none when that is nothing.
Result<std::optional<double>> SnrDbOf(const TensorView& packed, const RowReader& stored,
                                      ThreadPool* pool);

// A plain vector (norm weight, bias) with every value rounded to float16, kept as float32.
Result<Tensor> RoundVectorToF16(const TensorView& vector, std::string_view name);

}  // namespace hexlane

#endif  // HEXLANE_QUANT_QUANTIZE_TENSOR_H_
