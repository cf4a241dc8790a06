#include "quant/finetune/adam.h"

#include <cmath>

namespace hexlane {
namespace {

constexpr float kMeanDecay = 0.9f;
// Shorter than the paper's 0.999: a unit is trained for dozens of steps, not for thousands.
constexpr float kSquareDecay = 0.95f;
constexpr float kTiny = 1e-15f;  // gradients are of the order of 1e-6

}  // namespace

float Adam::Corrected(double rate, int64_t step) {
  const double mean = 1 - std::pow(static_cast<double>(kMeanDecay), step);
  const double square = 1 - std::pow(static_cast<double>(kSquareDecay), step);
  return static_cast<float>(rate * std::sqrt(square) / mean);
}

void Adam::Move(std::span<const float> gradient, size_t first, float rate,
                std::span<float> values) {
  float *mean = mean_.data() + first, *square = square_.data() + first;
  for (size_t i = 0; i < values.size(); ++i) {
    const float g = gradient[i];
    mean[i] = kMeanDecay * mean[i] + (1 - kMeanDecay) * g;
    square[i] = kSquareDecay * square[i] + (1 - kSquareDecay) * g * g;
    values[i] -= rate * mean[i] / (std::sqrt(square[i]) + kTiny);
  }
}

}  // namespace hexlane
