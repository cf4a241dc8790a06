// Constants of a unit in training: what they are rounded to now, and how a gradient moves them.
#ifndef HEXLANE_QUANT_FINETUNE_TRAINED_H_
#define HEXLANE_QUANT_FINETUNE_TRAINED_H_

#include <memory>
#include <span>

#include "base/tensor.h"
#include "quant/weights.h"

namespace hexlane {

class ThreadPool;

class Trained {
 public:
  virtual ~Trained() = default;

  // What the network computes with, float32; Round brings it up to date in place.
  virtual const Tensor& rounded() const = 0;
  virtual void Round() = 0;
  // Moves against the gradient at `rounded`. rate: of a step, in integers; step: counted from 1.
  virtual void Step(std::span<const float> gradient, double rate, int64_t step) = 0;
  // What is rounded now becomes what Finish gives, in the form that ships.
  virtual void Keep() = 0;
  virtual Tensor Finish() const = 0;
};

// A matrix w = u · scale + min with real u, rounded to the scheme's integers. u and the scales (of
// rows or blocks; integer block scales stay) are trained. It starts at `original` [n, k] as far as
// that rounds to the integers that `packed` has, at the cells' edges where it does not. With a rank
// r > 0, u moves by a product A B of n × r and r × k instead (Hu et al. 2021, "LoRA"), folded into
// the integers at the end. `pool` may be null.
std::unique_ptr<Trained> TrainMatrix(const TensorView& packed, const FloatMatrix& original,
                                     int rank, ThreadPool* pool);

// A bias or the weights of a norm; rounded to float16 where that is how it ships.
std::unique_ptr<Trained> TrainVector(const TensorView& vector, bool as_f16);

}  // namespace hexlane

#endif  // HEXLANE_QUANT_FINETUNE_TRAINED_H_
