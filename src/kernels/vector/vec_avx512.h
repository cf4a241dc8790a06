// Included by vec.h.
#include <immintrin.h>

namespace hexlane {
namespace {

struct F32 {
  static constexpr int kLanes = 16;
  __m512 v;
};
inline constexpr int kRegisters = 32;

inline F32 Load(const float* p) { return {_mm512_loadu_ps(p)}; }
inline void Store(float* p, F32 x) { _mm512_storeu_ps(p, x.v); }
inline F32 Set(float x) { return {_mm512_set1_ps(x)}; }
inline F32 Add(F32 a, F32 b) { return {_mm512_add_ps(a.v, b.v)}; }
inline F32 Sub(F32 a, F32 b) { return {_mm512_sub_ps(a.v, b.v)}; }
inline F32 Mul(F32 a, F32 b) { return {_mm512_mul_ps(a.v, b.v)}; }
inline F32 Div(F32 a, F32 b) { return {_mm512_div_ps(a.v, b.v)}; }
inline F32 Fma(F32 a, F32 b, F32 c) { return {_mm512_fmadd_ps(a.v, b.v, c.v)}; }
inline F32 Max(F32 a, F32 b) { return {_mm512_max_ps(a.v, b.v)}; }
inline F32 Min(F32 a, F32 b) { return {_mm512_min_ps(a.v, b.v)}; }
inline F32 Abs(F32 a) { return {_mm512_abs_ps(a.v)}; }
inline F32 Sqrt(F32 a) { return {_mm512_sqrt_ps(a.v)}; }
inline F32 Round(F32 a) { return {_mm512_roundscale_ps(a.v, 0)}; }
inline F32 TimesPowerOfTwo(F32 a, F32 n) { return {_mm512_scalef_ps(a.v, n.v)}; }
inline float Sum(F32 a) { return _mm512_reduce_add_ps(a.v); }
inline float Greatest(F32 a) { return _mm512_reduce_max_ps(a.v); }
inline F32 LoadHalf(const uint16_t* p) {
  return {_mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)))};
}
inline F32 LoadBf16(const uint16_t* p) {
  const __m512i wide =
      _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
  return {_mm512_castsi512_ps(_mm512_slli_epi32(wide, 16))};
}
inline void StoreHalf(uint16_t* p, F32 x) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p),
                      _mm512_cvtps_ph(x.v, _MM_FROUND_TO_NEAREST_INT));
}
// Rounds to the nearest integers, saturated to int8; returns their sum.
inline int32_t StoreInt8(int8_t* p, F32 x) {
  const __m512i q = _mm512_cvtps_epi32(x.v);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_cvtsepi32_epi8(q));
  return _mm512_reduce_add_epi32(q);
}

}  // namespace
}  // namespace hexlane
