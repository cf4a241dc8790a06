#include "quant/observe/histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

namespace hexlane {
namespace {

constexpr int kLeastExponent = -149;  // of the smallest float32
constexpr int kMostExponent = 128;    // past the largest

// The least e with |value| < 2^e for all of them. Magnitudes as integers: vector instructions.
int ExponentOf(std::span<const float> values) {
  uint32_t bits = 0;
  for (const float value : values)
    bits = std::max(bits, std::bit_cast<uint32_t>(value) & 0x7fffffffu);
  int exponent = kLeastExponent;
  if (bits > 0) std::frexp(std::bit_cast<float>(bits), &exponent);
  return exponent;
}

// floor(x), which is a call where the processor's oldest instructions have to do.
inline int Floor(double x) {
  const int towards_zero = static_cast<int>(x);
  return towards_zero - (x < towards_zero);
}

}  // namespace

double Histogram::width() const { return std::ldexp(2.0 / kBins, exponent_); }

void Histogram::Widen(int exponent) {
  const int shift = std::min(exponent - exponent_, 31);
  std::vector<int64_t> merged(kBins);
  for (int bin = 0; bin < kBins; ++bin)
    merged[static_cast<size_t>(((bin - kBins / 2) >> shift) + kBins / 2)] +=
        counts_[static_cast<size_t>(bin)];
  counts_ = std::move(merged);
  exponent_ = exponent;
}

void Histogram::Add(std::span<const float> values) {
  if (values.empty()) return;
  const int exponent = ExponentOf(values);
  if (counts_.empty()) {
    counts_.resize(kBins);
    exponent_ = exponent;
  }
  if (exponent > exponent_) Widen(exponent);
  const double bins_per_unit = 1 / width();  // a power of two: products are exact
  for (const float value : values)
    ++counts_[static_cast<size_t>(Floor(value * bins_per_unit) + kBins / 2)];
  count_ += static_cast<int64_t>(values.size());
}

double Histogram::Quantile(double share) const {
  const double target = share * static_cast<double>(count_);
  double below = 0;
  int last = 0;
  for (int bin = 0; bin < static_cast<int>(counts_.size()); ++bin) {
    const auto here = static_cast<double>(counts_[static_cast<size_t>(bin)]);
    if (here == 0) continue;
    if (below + here >= target) return edge(bin) + width() * std::max(0.0, (target - below) / here);
    below += here;
    last = bin;
  }
  return edge(last + 1);
}

double Histogram::ShareOutside(double low, double high) const {
  if (count_ == 0) return 0;
  int64_t outside = 0;
  for (int bin = 0; bin < kBins; ++bin) {
    const double middle = edge(bin) + width() / 2;
    if (middle < low || middle > high) outside += counts_[static_cast<size_t>(bin)];
  }
  return static_cast<double>(outside) / static_cast<double>(count_);
}

Json Histogram::Save() const {
  Json bins = Json::array();
  for (size_t bin = 0; bin < counts_.size(); ++bin) {
    if (counts_[bin] == 0) continue;
    bins.push_back(bin);
    bins.push_back(counts_[bin]);
  }
  return {{"exponent", exponent_}, {"bins", std::move(bins)}};
}

Result<Histogram> Histogram::Restore(const Json& saved) {
  constexpr std::string_view kWhere = "calibration state: histogram";
  Histogram histogram;
  const int64_t exponent = TRY(JsonField<int64_t>(saved, "exponent", kWhere));
  const Json& bins = *TRY(JsonArray(saved, "bins", kWhere));
  const auto fits = [](const Json& json) { return json.is_number_unsigned(); };
  if (exponent < kLeastExponent || exponent > kMostExponent || bins.size() % 2 != 0 ||
      !std::ranges::all_of(bins, fits))
    return Corrupt("not a histogram").At("{}", kWhere);
  histogram.exponent_ = static_cast<int>(exponent);
  if (!bins.empty()) histogram.counts_.resize(kBins);
  for (size_t i = 0; i < bins.size(); i += 2) {
    const auto bin = bins[i].get<uint64_t>();
    if (bin >= kBins) return Corrupt("bin {}", bin).At("{}", kWhere).Want("below {}", kBins);
    histogram.counts_[bin] = bins[i + 1].get<int64_t>();
    histogram.count_ += histogram.counts_[bin];
  }
  return histogram;
}

}  // namespace hexlane
