// Included by vec.h: four lanes in plain C++, for any processor.
#include <cmath>

#include "base/dtype.h"

namespace hexlane {
namespace {

struct F32 {
  static constexpr int kLanes = 4;
  float v[kLanes];
};
inline constexpr int kRegisters = 16;

template <typename F>
inline F32 MapLanes(F f) {
  F32 y;
  for (int i = 0; i < F32::kLanes; ++i) y.v[i] = f(i);
  return y;
}

inline F32 Load(const float* p) {
  return MapLanes([&](int i) { return p[i]; });
}
inline void Store(float* p, F32 x) { std::memcpy(p, x.v, sizeof(x.v)); }
inline F32 Set(float x) {
  return MapLanes([&](int) { return x; });
}
inline F32 Add(F32 a, F32 b) {
  return MapLanes([&](int i) { return a.v[i] + b.v[i]; });
}
inline F32 Sub(F32 a, F32 b) {
  return MapLanes([&](int i) { return a.v[i] - b.v[i]; });
}
inline F32 Mul(F32 a, F32 b) {
  return MapLanes([&](int i) { return a.v[i] * b.v[i]; });
}
inline F32 Div(F32 a, F32 b) {
  return MapLanes([&](int i) { return a.v[i] / b.v[i]; });
}
inline F32 Fma(F32 a, F32 b, F32 c) {
  return MapLanes([&](int i) { return a.v[i] * b.v[i] + c.v[i]; });
}
inline F32 Max(F32 a, F32 b) {  // b where a is NaN, as on x86
  return MapLanes([&](int i) { return a.v[i] > b.v[i] ? a.v[i] : b.v[i]; });
}
inline F32 Min(F32 a, F32 b) {
  return MapLanes([&](int i) { return a.v[i] < b.v[i] ? a.v[i] : b.v[i]; });
}
inline F32 Abs(F32 a) {
  return MapLanes([&](int i) { return std::fabs(a.v[i]); });
}
inline F32 Sqrt(F32 a) {
  return MapLanes([&](int i) { return std::sqrt(a.v[i]); });
}
inline F32 Round(F32 a) {
  return MapLanes([&](int i) { return std::nearbyint(a.v[i]); });
}
inline F32 TimesPowerOfTwo(F32 a, F32 n) {
  return MapLanes([&](int i) { return std::ldexp(a.v[i], static_cast<int>(n.v[i])); });
}
inline float Sum(F32 a) { return (a.v[0] + a.v[2]) + (a.v[1] + a.v[3]); }
inline float Greatest(F32 a) {
  float best = a.v[0];
  for (float x : a.v) best = x > best ? x : best;
  return best;
}
inline F32 LoadHalf(const uint16_t* p) {
  return MapLanes([&](int i) { return F16ToF32(p[i]); });
}
inline F32 LoadBf16(const uint16_t* p) {
  return MapLanes([&](int i) { return Bf16ToF32(p[i]); });
}
inline void StoreHalf(uint16_t* p, F32 x) {
  for (int i = 0; i < F32::kLanes; ++i) p[i] = F32ToF16(x.v[i]);
}
// Rounds to the nearest integers, saturated to int8 (NaN to 127); returns their sum.
inline int32_t StoreInt8(int8_t* p, F32 x) {
  const F32 bounded = Max(Min(x, Set(127)), Set(-128));
  int32_t sum = 0;
  for (int i = 0; i < F32::kLanes; ++i) sum += p[i] = static_cast<int8_t>(std::lrint(bounded.v[i]));
  return sum;
}

}  // namespace
}  // namespace hexlane
