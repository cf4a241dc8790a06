// Random numbers that are the same on every machine and with every standard library.
#ifndef HEXLANE_RUNTIME_SAMPLE_RANDOM_H_
#define HEXLANE_RUNTIME_SAMPLE_RANDOM_H_

#include <bit>
#include <cstdint>

namespace hexlane {

// xoshiro256** 1.0 (Blackman & Vigna 2018), its state filled by SplitMix64 from the seed.
class RandomStream {
 public:
  explicit RandomStream(uint64_t seed) {
    for (uint64_t& word : state_) word = SplitMix64(seed);
  }

  uint64_t Next() {
    const uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
    const uint64_t shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = std::rotl(state_[3], 45);
    return result;
  }

  // Uniform in [0, 1): the upper 53 bits, each value k * 2^-53.
  double NextUnit() { return static_cast<double>(Next() >> 11) * 0x1.0p-53; }

 private:
  static uint64_t SplitMix64(uint64_t& seed) {
    uint64_t z = (seed += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }

  uint64_t state_[4];
};

}  // namespace hexlane

#endif  // HEXLANE_RUNTIME_SAMPLE_RANDOM_H_
