// RMSNorm in vectors; included by vector/*.cc.
#include <cmath>

#include "kernels/rows.h"
#include "kernels/vector/vec.h"

namespace hexlane {
namespace {

inline void NormChunk(const float* x, const float* w, int64_t n, float eps, float* y) {
  F32 squares[2] = {Set(0), Set(0)};
  int64_t i = 0;
  for (; i + 2 * kLanes <= n; i += 2 * kLanes) {
    const F32 a = Load(x + i), b = Load(x + i + kLanes);
    squares[0] = Fma(a, a, squares[0]);
    squares[1] = Fma(b, b, squares[1]);
  }
  for (; i < n; i += kLanes) {
    const F32 a = LoadPart(x + i, n - i);
    squares[0] = Fma(a, a, squares[0]);
  }
  const float mean = Sum(Add(squares[0], squares[1])) / static_cast<float>(n);
  const F32 inverse = Set(1 / std::sqrt(mean + eps));
  for (i = 0; i < n; i += kLanes)
    StorePart(y + i, Mul(Mul(LoadPart(x + i, n - i), inverse), LoadPart(w + i, n - i)), n - i);
}

inline void RmsNormBody(ConstRows x, std::span<const float> w, float eps, Rows y) {
  const auto n = static_cast<int64_t>(w.size());
  for (int64_t at = 0; at < x.rows * x.dim; at += n)
    NormChunk(x.data + at, w.data(), n, eps, y.data + at);
}

}  // namespace
}  // namespace hexlane
