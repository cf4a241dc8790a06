// Included by vec.h.
#include <immintrin.h>

namespace hexlane {
namespace {

struct F32 {
  static constexpr int kLanes = 8;
  __m256 v;
};
inline constexpr int kRegisters = 16;

inline F32 Load(const float* p) { return {_mm256_loadu_ps(p)}; }
inline void Store(float* p, F32 x) { _mm256_storeu_ps(p, x.v); }
inline F32 Set(float x) { return {_mm256_set1_ps(x)}; }
inline F32 Add(F32 a, F32 b) { return {_mm256_add_ps(a.v, b.v)}; }
inline F32 Sub(F32 a, F32 b) { return {_mm256_sub_ps(a.v, b.v)}; }
inline F32 Mul(F32 a, F32 b) { return {_mm256_mul_ps(a.v, b.v)}; }
inline F32 Div(F32 a, F32 b) { return {_mm256_div_ps(a.v, b.v)}; }
inline F32 Fma(F32 a, F32 b, F32 c) { return {_mm256_fmadd_ps(a.v, b.v, c.v)}; }
inline F32 Max(F32 a, F32 b) { return {_mm256_max_ps(a.v, b.v)}; }
inline F32 Min(F32 a, F32 b) { return {_mm256_min_ps(a.v, b.v)}; }
inline F32 Abs(F32 a) { return {_mm256_andnot_ps(_mm256_set1_ps(-0.0f), a.v)}; }
inline F32 Sqrt(F32 a) { return {_mm256_sqrt_ps(a.v)}; }
inline F32 Round(F32 a) { return {_mm256_round_ps(a.v, _MM_FROUND_TO_NEAREST_INT)}; }
inline F32 TimesPowerOfTwo(F32 a, F32 n) {
  const __m256i exponent = _mm256_add_epi32(_mm256_cvtps_epi32(n.v), _mm256_set1_epi32(127));
  return {_mm256_mul_ps(a.v, _mm256_castsi256_ps(_mm256_slli_epi32(exponent, 23)))};
}
inline float Sum(F32 a) {
  __m128 s = _mm_add_ps(_mm256_castps256_ps128(a.v), _mm256_extractf128_ps(a.v, 1));
  s = _mm_add_ps(s, _mm_movehl_ps(s, s));
  return _mm_cvtss_f32(_mm_add_ss(s, _mm_shuffle_ps(s, s, 1)));
}
inline float Greatest(F32 a) {
  __m128 s = _mm_max_ps(_mm256_castps256_ps128(a.v), _mm256_extractf128_ps(a.v, 1));
  s = _mm_max_ps(s, _mm_movehl_ps(s, s));
  return _mm_cvtss_f32(_mm_max_ss(s, _mm_shuffle_ps(s, s, 1)));
}
inline F32 LoadHalf(const uint16_t* p) {
  return {_mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)))};
}
inline F32 LoadBf16(const uint16_t* p) {
  const __m256i wide = _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  return {_mm256_castsi256_ps(_mm256_slli_epi32(wide, 16))};
}
inline void StoreHalf(uint16_t* p, F32 x) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm256_cvtps_ph(x.v, _MM_FROUND_TO_NEAREST_INT));
}
// Rounds to the nearest integers, saturated to int8; returns their sum.
inline int32_t StoreInt8(int8_t* p, F32 x) {
  const __m256i q = _mm256_cvtps_epi32(x.v);
  const __m128i low = _mm256_castsi256_si128(q), high = _mm256_extracti128_si256(q, 1);
  const __m128i words = _mm_packs_epi32(low, high);
  _mm_storel_epi64(reinterpret_cast<__m128i*>(p), _mm_packs_epi16(words, words));
  __m128i s = _mm_add_epi32(low, high);
  s = _mm_add_epi32(s, _mm_unpackhi_epi64(s, s));
  return _mm_cvtsi128_si32(_mm_add_epi32(s, _mm_shuffle_epi32(s, 1)));
}

}  // namespace
}  // namespace hexlane
