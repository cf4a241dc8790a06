// How far one run's values are from another's.
#ifndef HEXLANE_COMPILER_COMPARE_H_
#define HEXLANE_COMPILER_COMPARE_H_

#include <cstdint>
#include <span>

namespace hexlane {

// Spans of one size. NaN anywhere makes the result NaN, which fails every threshold.
double Cosine(std::span<const float> values,
              std::span<const float> reference);  // 1 when both are all zero
double MaxRelativeError(std::span<const float> values,
                        std::span<const float> reference);  // over the reference's range
inline constexpr double kExactSnrDb = 999;                  // of what is equal; finite, for JSON
double SnrDb(std::span<const float> values,
             std::span<const float> reference);  // 10 log10(Σr² / Σ(v-r)²)
// Share of rows [rows, vocab] whose largest entry is at the same place.
double Top1Agreement(std::span<const float> logits, std::span<const float> reference,
                     int64_t vocab);

}  // namespace hexlane

#endif  // HEXLANE_COMPILER_COMPARE_H_
