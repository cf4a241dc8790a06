// Random quantised matrices for tests and benchmarks.
#ifndef HEXLANE_KERNELS_PACK_RANDOM_MATRIX_H_
#define HEXLANE_KERNELS_PACK_RANDOM_MATRIX_H_

#include <random>

#include "base/dtype.h"
#include "base/quantized_matrix.h"

namespace hexlane {

// Every code of the scheme may occur; scales are float16 values around 0.01, so that packing keeps
// them.
inline QuantizedMatrix RandomMatrix(Scheme scheme, int64_t n, int64_t k, unsigned seed) {
  std::mt19937 rng(seed);
  const SchemeInfo& info = Info(scheme);
  const int low = info.scale == ScaleKind::kAffine ? 0 : -(1 << (info.bits - 1));
  std::uniform_int_distribution<int> code(low, low + (1 << info.bits) - 1), block(1, 16);
  std::uniform_real_distribution<float> scale(0.001f, 0.02f);
  const auto half = [](float x) { return F16ToF32(F32ToF16(x)); };
  QuantizedMatrix m;
  m.scheme = scheme, m.n = n, m.k = k;
  m.q.resize(n * k);
  for (int8_t& q : m.q) q = static_cast<int8_t>(code(rng));
  m.scales.resize(info.scale == ScaleKind::kInteger ? n : n * m.blocks());
  for (float& s : m.scales) s = half(scale(rng));
  if (info.scale == ScaleKind::kInteger) m.block_scales.resize(n * m.blocks());
  for (uint8_t& b : m.block_scales) b = static_cast<uint8_t>(block(rng));
  if (info.scale == ScaleKind::kAffine) m.mins.resize(n * m.blocks());
  for (float& x : m.mins) x = half(-8 * scale(rng));
  return m;
}

}  // namespace hexlane

#endif  // HEXLANE_KERNELS_PACK_RANDOM_MATRIX_H_
