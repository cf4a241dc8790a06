#include <cmath>

#include "base/encoding.h"
#include "interp/interpreter.h"
#include "quant/finetune/adam.h"
#include "quant/finetune/trained.h"

namespace hexlane {
namespace {

// One integer's worth: what a vector moves by where a weight would by one step of its scale. A
// share of the elements' mean magnitude.
constexpr double kUnit = 1.0 / 16;

class TrainedVector : public Trained {
 public:
  TrainedVector(const TensorView& vector, bool as_f16)
      : as_f16_(as_f16), values_(ToFloats(vector)), adam_(values_.size()) {
    double sum = 0;
    for (const float value : values_) sum += std::abs(value);
    if (sum > 0) unit_ = kUnit * sum / static_cast<double>(values_.size());
    rounded_values_ = std::make_shared<std::vector<float>>(values_);
    rounded_ = Tensor({std::as_bytes(std::span(*rounded_values_)), vector.shape, DType::kF32},
                      rounded_values_);
    Round();
    Keep();
  }

  const Tensor& rounded() const override { return rounded_; }
  void Round() override {
    *rounded_values_ = values_;
    if (as_f16_) FakeQuantize(*rounded_values_, {.dtype = DType::kF16});
  }
  void Step(std::span<const float> gradient, double rate, int64_t step) override {
    adam_.Move(gradient, 0, Adam::Corrected(rate * unit_, step), values_);
  }
  void Keep() override { kept_ = *rounded_values_; }
  Tensor Finish() const override { return Tensor::FromFloats(kept_, rounded_.shape()); }

 private:
  bool as_f16_;
  double unit_ = kUnit;
  std::vector<float> values_, kept_;
  Adam adam_;
  std::shared_ptr<std::vector<float>> rounded_values_;
  Tensor rounded_;
};

}  // namespace

std::unique_ptr<Trained> TrainVector(const TensorView& vector, bool as_f16) {
  return std::make_unique<TrainedVector>(vector, as_f16);
}

}  // namespace hexlane
