// What calibration learns of the inputs of matrices: the sum of their outer products, from which
// algorithms compute the error that rounded weights make at the output.
#ifndef HEXLANE_QUANT_MOMENTS_H_
#define HEXLANE_QUANT_MOMENTS_H_

#include <map>
#include <span>
#include <string>
#include <vector>

#include "kernels/rows.h"

namespace hexlane {

class ThreadPool;

// H = Σ x xᵀ over rows x of `dim` channels. For W with error E, Σ |E x|² is tr(E H Eᵀ).
class Moments {
 public:
  void Add(ConstRows x, ThreadPool* pool);

  int64_t dim() const { return dim_; }
  int64_t rows() const { return rows_; }
  // [dim, dim], symmetric.
  std::span<const float> sum() const { return sum_; }
  // Mean of x² of every channel: [dim].
  std::vector<float> MeanSquares() const;

 private:
  int64_t dim_ = 0;  // 0 until the first rows come
  int64_t rows_ = 0;
  std::vector<float> sum_;
};

// By the name of the value that the matrices multiply.
using MomentsByValue = std::map<std::string, Moments, std::less<>>;

}  // namespace hexlane

#endif  // HEXLANE_QUANT_MOMENTS_H_
