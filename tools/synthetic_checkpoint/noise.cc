#include "noise.h"

#include <algorithm>
#include <cmath>

#include "base/dtype.h"

namespace hexlane::synthetic {
namespace {

constexpr size_t kTableSize = 1 << 16;
constexpr double kTail = 0.06;  // h
// One row or column in so many is an outlier, and at least one: 8 of 4096 (Dettmers et al. 2022
// count 6 to 7 at that width).
constexpr int64_t kOutlierEvery = 512;

// Output function of SplitMix64 (Steele, Lea & Flood 2014): a bijection that mixes all bits.
uint64_t Mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

// The n-th 64 random bits of a stream.
uint64_t Bits(uint64_t key, uint64_t n) { return Mix(key + (n + 1) * 0x9e3779b97f4a7c15); }

// FNV-1a.
uint64_t HashName(std::string_view name) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

// z with P(normal > z) = tail, from a first guess below it: Newton's method on a convex function.
double NormalQuantile(double tail, double guess) {
  constexpr double kInverseRoot2Pi = 0.3989422804014327;
  for (int i = 0; i < 20; ++i) {
    const double excess = 0.5 * std::erfc(guess / std::sqrt(2.0)) - tail;
    const double step = excess / (kInverseRoot2Pi * std::exp(-0.5 * guess * guess));
    guess += step;
    if (std::abs(step) < 1e-12) break;
  }
  return guess;
}

}  // namespace

NoiseTable::NoiseTable() : values_(kTableSize) {
  const double scale = std::pow(1 - 2 * kTail, 0.75);  // variance of x: (1 - 2h)^-1.5
  double z = 0;
  for (size_t i = kTableSize / 2; i < kTableSize; ++i) {
    const double tail = 1 - (static_cast<double>(i) + 0.5) / kTableSize;
    z = NormalQuantile(tail, z);
    const double x = scale * z * std::exp(kTail * z * z / 2);
    values_[i] = static_cast<float>(x);
    values_[kTableSize - 1 - i] = static_cast<float>(-x);
  }
}

TensorNoise::TensorNoise(const TensorPlan& plan, uint64_t seed, const NoiseTable& table)
    : table_(table),
      seed_(Mix(seed)),
      key_(Mix(seed_ ^ HashName(plan.name))),
      center_(static_cast<float>(plan.distribution.center)) {
  const Distribution& d = plan.distribution;
  row_gains_ = Gains(std::max<int64_t>(plan.rows, 1), d.row_spread, d.outlier_row, d.residual_rows,
                     /*stream=*/1);
  column_gains_ = Gains(plan.columns, d.column_spread, d.outlier_column, d.residual_columns,
                        /*stream=*/2);
  for (float& gain : row_gains_) gain *= static_cast<float>(d.deviation);
}

std::vector<float> TensorNoise::Gains(int64_t count, double spread, double outlier, bool residual,
                                      uint64_t stream) const {
  const uint64_t key = Mix(key_ + stream);
  std::vector<float> gains(static_cast<size_t>(count));
  for (size_t i = 0; i < gains.size(); ++i) {
    const float normal = std::clamp(table_[static_cast<uint16_t>(Bits(key, i))], -4.f, 4.f);
    gains[i] = static_cast<float>(std::exp(spread * normal));
  }
  if (outlier == 1) return gains;
  const uint64_t places = residual ? seed_ : Mix(key + 1);
  for (int64_t i = 0; i < std::max<int64_t>(1, count / kOutlierEvery); ++i) {
    const uint64_t at = Bits(places, static_cast<uint64_t>(i)) % static_cast<uint64_t>(count);
    gains[at] = static_cast<float>(outlier);  // twice the same place: once
  }
  return gains;
}

void TensorNoise::FillRow(int64_t row, std::span<uint16_t> out) const {
  const float row_gain = row_gains_[static_cast<size_t>(row)];
  const uint64_t quads = (out.size() + 3) / 4;  // of each row
  const uint64_t first = static_cast<uint64_t>(row) * quads;
  for (uint64_t quad = 0; quad < quads; ++quad) {
    uint64_t bits = Bits(key_, first + quad);
    const size_t end = std::min<size_t>(out.size(), 4 * quad + 4);
    for (size_t i = 4 * quad; i < end; ++i, bits >>= 16) {
      const float noise = table_[static_cast<uint16_t>(bits)];
      out[i] = F32ToF16(column_gains_[i] * (center_ + row_gain * noise));
    }
  }
}

}  // namespace hexlane::synthetic
