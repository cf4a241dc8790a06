// Adam. Kingma & Ba 2014, "Adam: A Method for Stochastic Optimization", algorithm 1.
#ifndef HEXLANE_QUANT_FINETUNE_ADAM_H_
#define HEXLANE_QUANT_FINETUNE_ADAM_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace hexlane {

class Adam {
 public:
  explicit Adam(size_t count) : mean_(count), square_(count) {}

  // The step size of the paper's last line, with both corrections for the start; `step` from 1.
  static float Corrected(double rate, int64_t step);

  // Moves values[i] against gradient[i] by about `rate`, which is corrected. They are the
  // parameters first, first + 1, …; threads may move different ones at once.
  void Move(std::span<const float> gradient, size_t first, float rate, std::span<float> values);

 private:
  std::vector<float> mean_, square_;
};

}  // namespace hexlane

#endif  // HEXLANE_QUANT_FINETUNE_ADAM_H_
