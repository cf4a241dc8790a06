// Telling numbers from NaN and infinity.
#ifndef HEXLANE_BASE_FINITE_H_
#define HEXLANE_BASE_FINITE_H_

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>

namespace hexlane {

// Whether there is no NaN and no infinity.
inline bool AllFinite(std::span<const float> values) {
  uint32_t largest = 0;  // magnitude bits; those of NaN and infinity are the largest of all
  for (const float value : values)
    largest = std::max(largest, std::bit_cast<uint32_t>(value) & 0x7fffffffu);
  return largest < 0x7f800000u;
}

}  // namespace hexlane

#endif  // HEXLANE_BASE_FINITE_H_
