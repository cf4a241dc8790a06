#include <cmath>

#include "base/check.h"
#include "kernels/elementwise/elementwise.h"

namespace hexlane {
namespace {
float SiluOf(float a) { return a / (1 + std::exp(-a)); }
float GeluOf(float a) {
  constexpr float kSqrt2OverPi = 0.7978845608028654f;
  return 0.5f * a * (1 + std::tanh(kSqrt2OverPi * (a + 0.044715f * a * a * a)));
}

template <typename F>
void Map(std::span<const float> a, std::span<float> y, F f) {
  CHECK(a.size() == y.size());
  for (size_t i = 0; i < y.size(); ++i) y[i] = f(a[i]);
}
template <typename F>
void Map(std::span<const float> a, std::span<const float> b, std::span<float> y, F f) {
  CHECK(a.size() == y.size() && b.size() == y.size());
  for (size_t i = 0; i < y.size(); ++i) y[i] = f(a[i], b[i]);
}
}  // namespace

void Add(std::span<const float> a, std::span<const float> b, std::span<float> y) {
  Map(a, b, y, [](float p, float q) { return p + q; });
}
void Mul(std::span<const float> a, std::span<const float> b, std::span<float> y) {
  Map(a, b, y, [](float p, float q) { return p * q; });
}
void Silu(std::span<const float> a, std::span<float> y) { Map(a, y, SiluOf); }
void Gelu(std::span<const float> a, std::span<float> y) { Map(a, y, GeluOf); }
void SiluMul(std::span<const float> gate, std::span<const float> up, std::span<float> y) {
  Map(gate, up, y, [](float g, float u) { return SiluOf(g) * u; });
}
void GeluMul(std::span<const float> gate, std::span<const float> up, std::span<float> y) {
  Map(gate, up, y, [](float g, float u) { return GeluOf(g) * u; });
}
void Softcap(std::span<const float> a, float softcap, std::span<float> y) {
  Map(a, y, [softcap](float v) { return softcap * std::tanh(v / softcap); });
}

}  // namespace hexlane
