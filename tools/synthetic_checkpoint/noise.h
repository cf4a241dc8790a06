// Seeded weights: each one is a function of (seed, tensor, row, column) alone, so that threads and
// chunks do not matter.
#ifndef HEXLANE_TOOLS_SYNTHETIC_CHECKPOINT_NOISE_H_
#define HEXLANE_TOOLS_SYNTHETIC_CHECKPOINT_NOISE_H_

#include <cstdint>
#include <span>
#include <vector>

#include "shape.h"

namespace hexlane::synthetic {

// 2^16 equally probable values of a heavy-tailed distribution with mean 0 and variance 1: Tukey's
// h, x = z * exp(h * z^2 / 2) of a normal z, h = 0.06: kurtosis 4.1, largest 6.8.
class NoiseTable {
 public:
  NoiseTable();
  float operator[](uint16_t index) const { return values_[index]; }

 private:
  std::vector<float> values_;
};

// One tensor's weights, as IEEE binary16.
class TensorNoise {
 public:
  TensorNoise(const TensorPlan& plan, uint64_t seed, const NoiseTable& table);

  // Row `row` (0 of a vector) into `out`, `columns` values.
  void FillRow(int64_t row, std::span<uint16_t> out) const;

 private:
  std::vector<float> Gains(int64_t count, double spread, double outlier, bool residual,
                           uint64_t stream) const;

  const NoiseTable& table_;
  uint64_t seed_;
  uint64_t key_;  // of seed and name
  float center_;
  std::vector<float> row_gains_;  // deviation included
  std::vector<float> column_gains_;
};

}  // namespace hexlane::synthetic

#endif  // HEXLANE_TOOLS_SYNTHETIC_CHECKPOINT_NOISE_H_
