#include <cmath>

#include "base/check.h"
#include "kernels/norm/norm.h"

namespace hexlane {
namespace {
void NormChunk(const float* x, std::span<const float> w, float eps, float* y) {
  double squares = 0;
  for (size_t i = 0; i < w.size(); ++i) squares += static_cast<double>(x[i]) * x[i];
  const float inverse = static_cast<float>(1 / std::sqrt(squares / w.size() + eps));
  for (size_t i = 0; i < w.size(); ++i) y[i] = x[i] * inverse * w[i];
}
}  // namespace

void RmsNorm(ConstRows x, std::span<const float> w, float eps, Rows y) {
  CHECK(!w.empty() && x.dim % w.size() == 0 && x.dim == y.dim && x.rows == y.rows);
  const int64_t chunks = x.rows * x.dim / w.size();
  for (int64_t c = 0; c < chunks; ++c)
    NormChunk(x.data + c * w.size(), w, eps, y.data + c * w.size());
}

}  // namespace hexlane
