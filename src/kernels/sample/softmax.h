#ifndef HEXLANE_KERNELS_SAMPLE_SOFTMAX_H_
#define HEXLANE_KERNELS_SAMPLE_SOFTMAX_H_

#include <cstdint>
#include <span>

namespace hexlane {

// exp(x - max) / sum, in place. Not for an empty span.
void Softmax(std::span<float> x);
// Index of the largest element, the first of equals. NaN never wins. Not for an empty span.
int64_t ArgMax(std::span<const float> x);
// log of the sum of exp(x), summed in double. Not for an empty span.
double LogSumExp(std::span<const float> x);
// -log softmax(x)[target], summed in double: the negative log-likelihood of one token.
double NegativeLogLikelihood(std::span<const float> logits, int64_t target);

}  // namespace hexlane

#endif  // HEXLANE_KERNELS_SAMPLE_SOFTMAX_H_
