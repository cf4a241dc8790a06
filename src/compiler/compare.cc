#include "compiler/compare.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "kernels/sample/softmax.h"

namespace hexlane {

double Cosine(std::span<const float> values, std::span<const float> reference) {
  CHECK(values.size() == reference.size());
  double vr = 0, vv = 0, rr = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    vr += double{values[i]} * reference[i];
    vv += double{values[i]} * values[i];
    rr += double{reference[i]} * reference[i];
  }
  if (vv == 0 && rr == 0) return 1;
  if (vv == 0 || rr == 0) return 0;
  return vr / std::sqrt(vv) / std::sqrt(rr);
}

double MaxRelativeError(std::span<const float> values, std::span<const float> reference) {
  CHECK(values.size() == reference.size());
  double worst = 0;
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (size_t i = 0; i < values.size(); ++i) {
    const double error = std::abs(double{values[i]} - reference[i]);
    if (std::isnan(error)) return error;
    worst = std::max(worst, error);
    low = std::min(low, double{reference[i]});
    high = std::max(high, double{reference[i]});
  }
  if (worst == 0) return 0;
  return high > low ? worst / (high - low) : std::numeric_limits<double>::infinity();
}

double SnrDb(std::span<const float> values, std::span<const float> reference) {
  CHECK(values.size() == reference.size());
  double signal = 0, noise = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    signal += double{reference[i]} * reference[i];
    noise += (double{values[i]} - reference[i]) * (double{values[i]} - reference[i]);
  }
  if (noise == 0) return kExactSnrDb;
  return signal == 0 ? -kExactSnrDb : 10 * std::log10(signal / noise);
}

double Top1Agreement(std::span<const float> logits, std::span<const float> reference,
                     int64_t vocab) {
  CHECK(logits.size() == reference.size());
  const auto width = static_cast<size_t>(vocab);
  const size_t rows = logits.size() / width;
  if (rows == 0) return 1;
  size_t same = 0;
  for (size_t row = 0; row < rows; ++row) {
    same +=
        ArgMax(logits.subspan(row * width, width)) == ArgMax(reference.subspan(row * width, width));
  }
  return static_cast<double>(same) / static_cast<double>(rows);
}

}  // namespace hexlane
