// GPTQ: what rounding a column of weights costs is made good by the columns that follow.
// Frantar et al. 2022, "GPTQ: Accurate Post-Training Quantization for Generative Pre-trained
// Transformers", with columns in descending order of their inputs' energy ("act-order") and scales
// that are fixed beforehand.
#ifndef HEXLANE_QUANT_ALGORITHM_GPTQ_H_
#define HEXLANE_QUANT_ALGORITHM_GPTQ_H_

#include <cstdint>
#include <vector>

#include "base/quantized_matrix.h"
#include "hexlane/status.h"
#include "quant/moments.h"
#include "quant/weights.h"

namespace hexlane {

// For all matrices that multiply one value.
class Gptq {
 public:
  // Adds `damping` times the mean of the diagonal to it (the paper: 0.01). kInvalidInput when the
  // moments are not positive definite even so.
  static Result<Gptq> Create(const Moments& moments, double damping = 0.01);

  // Chooses the integers of `m` anew for `weights` [m.n, m.k], whose scales `m` already has. Rows
  // are independent of each other.
  void Round(const FloatMatrix& weights, QuantizedMatrix& m) const;

 private:
  std::vector<int32_t> order_;  // column i is the i-th to be rounded; [k]
  // Upper triangular factor U of the inverse moments in that order, H⁻¹ = Uᵀ U; [k, k].
  std::vector<float> factor_;
};

}  // namespace hexlane

#endif  // HEXLANE_QUANT_ALGORITHM_GPTQ_H_
