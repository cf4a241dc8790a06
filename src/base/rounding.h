// Rounding that compilers make vectors of.
#ifndef HEXLANE_BASE_ROUNDING_H_
#define HEXLANE_BASE_ROUNDING_H_

namespace hexlane {

// `value` limited to [lo, hi], then rounded half to even; NaN becomes hi. Limits are below 2^51.
// Adding and taking away 1.5 · 2^52 rounds without a call, in the default rounding mode.
inline double LimitAndRound(double value, double lo, double hi) {
  constexpr double kRound = 0x1.8p52;
  value = value < hi ? value : hi;
  value = value > lo ? value : lo;
  return (value + kRound) - kRound;
}

}  // namespace hexlane

#endif  // HEXLANE_BASE_ROUNDING_H_
