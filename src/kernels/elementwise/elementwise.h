// y[i] = f(a[i], b[i]) over whole buffers of one size; y may be a or b.
#ifndef HEXLANE_KERNELS_ELEMENTWISE_ELEMENTWISE_H_
#define HEXLANE_KERNELS_ELEMENTWISE_ELEMENTWISE_H_

#include <cstdint>
#include <span>

namespace hexlane {

void Add(std::span<const float> a, std::span<const float> b, std::span<float> y);
void Mul(std::span<const float> a, std::span<const float> b, std::span<float> y);
void Silu(std::span<const float> a, std::span<float> y);  // a / (1 + exp(-a))
// The tanh form: a/2 · (1 + tanh(sqrt(2/π) (a + 0.044715 a³))). Hendrycks & Gimpel 2016.
void Gelu(std::span<const float> a, std::span<float> y);
void SiluMul(std::span<const float> gate, std::span<const float> up, std::span<float> y);
void GeluMul(std::span<const float> gate, std::span<const float> up, std::span<float> y);
// softcap · tanh(a / softcap)
void Softcap(std::span<const float> a, float softcap, std::span<float> y);

// y[i] = silu(gate[i]) · up[i] for i < n, as the executor calls it; y may be gate or up.
using SiluMulFn = void(const float* gate, const float* up, float* y, int64_t n);

}  // namespace hexlane

#endif  // HEXLANE_KERNELS_ELEMENTWISE_ELEMENTWISE_H_
