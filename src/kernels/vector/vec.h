// F32: one vector register of floats, and the operations that float kernels are written in. The
// kernel bodies
// (*_body.h) are compiled once per instruction set by the .cc files of this folder; everything here
// has internal linkage so that the copies stay apart.
#ifndef HEXLANE_KERNELS_VECTOR_VEC_H_
#define HEXLANE_KERNELS_VECTOR_VEC_H_

#include <cstdint>
#include <cstring>

#if defined(__AVX512F__)
#include "kernels/vector/vec_avx512.h"
#elif defined(__AVX2__)
#include "kernels/vector/vec_avx2.h"
#elif defined(__ARM_FEATURE_DOTPROD)
#include "kernels/vector/vec_neon.h"
#else
#include "kernels/vector/vec_generic.h"
#endif

namespace hexlane {
namespace {

inline constexpr int kLanes = F32::kLanes;

// The first n floats, 0 after them.
inline F32 LoadPart(const float* p, int64_t n) {
  if (n >= kLanes) return Load(p);
  float buffer[kLanes] = {};
  for (int64_t i = 0; i < n; ++i) buffer[i] = p[i];
  return Load(buffer);
}
inline void StorePart(float* p, F32 x, int64_t n) {
  if (n >= kLanes) return Store(p, x);
  float buffer[kLanes];
  Store(buffer, x);
  for (int64_t i = 0; i < n; ++i) p[i] = buffer[i];
}

// e^x with a relative error below 3e-7 for -87.3 ≤ x ≤ 88; outside, the value at the nearer end.
// Taylor series of degree 6 on |r| ≤ ln(2)/2 after x = n ln 2 + r (its remainder is 1.2e-7; the
// rest is rounding).
inline F32 Exp(F32 x) {
  x = Min(Max(x, Set(-87.3f)), Set(88.0f));
  const F32 n = Round(Mul(x, Set(1.44269504f)));
  F32 r = Fma(n, Set(-0.693359375f), x);  // ln 2 in two parts, the first one exact in n's products
  r = Fma(n, Set(2.12194440e-4f), r);
  F32 p = Fma(r, Set(1.0f / 720), Set(1.0f / 120));
  p = Fma(p, r, Set(1.0f / 24));
  p = Fma(p, r, Set(1.0f / 6));
  p = Fma(p, r, Set(0.5f));
  p = Fma(p, r, Set(1));
  p = Fma(p, r, Set(1));
  return TimesPowerOfTwo(p, n);
}

}  // namespace
}  // namespace hexlane

#endif  // HEXLANE_KERNELS_VECTOR_VEC_H_
