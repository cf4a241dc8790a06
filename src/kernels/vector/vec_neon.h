// Included by vec.h.
#include <arm_neon.h>

namespace hexlane {
namespace {

struct F32 {
  static constexpr int kLanes = 4;
  float32x4_t v;
};
inline constexpr int kRegisters = 32;

inline F32 Load(const float* p) { return {vld1q_f32(p)}; }
inline void Store(float* p, F32 x) { vst1q_f32(p, x.v); }
inline F32 Set(float x) { return {vdupq_n_f32(x)}; }
inline F32 Add(F32 a, F32 b) { return {vaddq_f32(a.v, b.v)}; }
inline F32 Sub(F32 a, F32 b) { return {vsubq_f32(a.v, b.v)}; }
inline F32 Mul(F32 a, F32 b) { return {vmulq_f32(a.v, b.v)}; }
inline F32 Div(F32 a, F32 b) { return {vdivq_f32(a.v, b.v)}; }
inline F32 Fma(F32 a, F32 b, F32 c) { return {vfmaq_f32(c.v, a.v, b.v)}; }
inline F32 Max(F32 a, F32 b) { return {vmaxq_f32(a.v, b.v)}; }
inline F32 Min(F32 a, F32 b) { return {vminq_f32(a.v, b.v)}; }
inline F32 Abs(F32 a) { return {vabsq_f32(a.v)}; }
inline F32 Sqrt(F32 a) { return {vsqrtq_f32(a.v)}; }
inline F32 Round(F32 a) { return {vrndnq_f32(a.v)}; }
inline F32 TimesPowerOfTwo(F32 a, F32 n) {
  const int32x4_t exponent = vaddq_s32(vcvtnq_s32_f32(n.v), vdupq_n_s32(127));
  return {vmulq_f32(a.v, vreinterpretq_f32_s32(vshlq_n_s32(exponent, 23)))};
}
inline float Sum(F32 a) { return vaddvq_f32(a.v); }
inline float Greatest(F32 a) { return vmaxvq_f32(a.v); }
inline F32 LoadHalf(const uint16_t* p) { return {vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p)))}; }
inline F32 LoadBf16(const uint16_t* p) {
  return {vreinterpretq_f32_u32(vshll_n_u16(vld1_u16(p), 16))};
}
inline void StoreHalf(uint16_t* p, F32 x) { vst1_u16(p, vreinterpret_u16_f16(vcvt_f16_f32(x.v))); }
// Rounds to the nearest integers, saturated to int8; returns their sum.
inline int32_t StoreInt8(int8_t* p, F32 x) {
  const int32x4_t q = vcvtnq_s32_f32(x.v);
  const int16x4_t words = vqmovn_s32(q);
  const int8x8_t bytes = vqmovn_s16(vcombine_s16(words, words));
  vst1_lane_s32(reinterpret_cast<int32_t*>(p), vreinterpret_s32_s8(bytes), 0);
  return vaddvq_s32(q);
}

}  // namespace
}  // namespace hexlane
