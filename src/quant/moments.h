// What calibration learns of the inputs of matrices: the sum of their outer products, from which
// algorithms compute the error that rounded weights make at the output, and figures of channels.
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
  // Of every channel, [dim]: the mean of x², of |x| and of x, and the largest |x|.
  std::vector<float> MeanSquares() const;
  std::vector<float> MeanMagnitudes() const;
  std::vector<float> Means() const;
  std::span<const float> max_abs() const { return max_abs_; }

 private:
  void AddToChannels(ConstRows x);

  int64_t dim_ = 0;  // 0 until the first rows come
  int64_t rows_ = 0;
  std::vector<float> sum_;
  std::vector<double> channel_sums_, channel_sum_abs_;  // of x, of |x|: [dim]
  std::vector<float> max_abs_;                          // [dim]
};

// By the name of the value that the matrices multiply.
using MomentsByValue = std::map<std::string, Moments, std::less<>>;

}  // namespace hexlane

#endif  // HEXLANE_QUANT_MOMENTS_H_
