#include "kernels/sample/softmax.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace hexlane {

void Softmax(std::span<float> x) {
  CHECK(!x.empty());
  const float max = *std::max_element(x.begin(), x.end());
  double sum = 0;
  for (float& v : x) sum += v = std::exp(v - max);
  const float inverse = static_cast<float>(1 / sum);
  for (float& v : x) v *= inverse;
}

int64_t ArgMax(std::span<const float> x) {
  CHECK(!x.empty());
  size_t best = 0;
  for (size_t i = 1; i < x.size(); ++i)
    if (x[i] > x[best] || std::isnan(x[best])) best = i;
  return static_cast<int64_t>(best);
}

double LogSumExp(std::span<const float> x) {
  CHECK(!x.empty());
  const double max = *std::max_element(x.begin(), x.end());
  double sum = 0;
  for (float v : x) sum += std::exp(v - max);
  return std::log(sum) + max;
}

double NegativeLogLikelihood(std::span<const float> logits, int64_t target) {
  CHECK(target >= 0 && target < static_cast<int64_t>(logits.size()));
  return LogSumExp(logits) - logits[target];
}

}  // namespace hexlane
