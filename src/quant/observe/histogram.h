// How often an activation takes which values, in bounded memory and without knowing its range in
// advance.
#ifndef HEXLANE_QUANT_OBSERVE_HISTOGRAM_H_
#define HEXLANE_QUANT_OBSERVE_HISTOGRAM_H_

#include <cstdint>
#include <span>
#include <vector>

#include "base/json.h"

namespace hexlane {

// kBins equal bins over [-2^e, 2^e), with the least e that holds every element so far. When e
// grows, whole bins are merged into one, so that the counts are those of all elements binned by the
// last e from the start: the order in which they came does not matter.
class Histogram {
 public:
  static constexpr int kBins = 4096;

  void Add(std::span<const float> values);  // finite

  int64_t count() const { return count_; }
  double edge(int bin) const { return (bin - kBins / 2) * width(); }  // lower; of kBins: the end
  double width() const;
  // [kBins]; empty before the first element.
  std::span<const int64_t> counts() const { return counts_; }

  // The value below which `share` of the elements lie, interpolated within its bin.
  double Quantile(double share) const;
  // Elements in bins whose middle is outside [low, high], as a share of all; 0 without elements.
  double ShareOutside(double low, double high) const;

  // {"exponent", "bins": [index, count, …]}, and back; kCorrupt where it is not that.
  Json Save() const;
  static Result<Histogram> Restore(const Json& saved);

 private:
  void Widen(int exponent);

  int exponent_ = 0;
  int64_t count_ = 0;
  std::vector<int64_t> counts_;
};

}  // namespace hexlane

#endif  // HEXLANE_QUANT_OBSERVE_HISTOGRAM_H_
