#include "quant/observe/range_rule.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <vector>

namespace hexlane {
namespace {

constexpr double kLeastPercentile = 50;
// Ranges that are tried: each end is the seen one times 2^(-i / 8), down to a bin of it.
constexpr int kTriesPerOctave = 8;
constexpr int kTries = 10 * kTriesPerOctave;
constexpr int kMostRounds = 4;

constexpr std::string_view kNames[] = {"minmax", "percentile", "mse", "entropy"};

Failure BadPercentile(std::string_view text) {
  return Usage("observer '{}'", text).Want("percentile:P with {} < P <= 100", kLeastPercentile);
}

}  // namespace

std::string RangeRule::name() const {
  std::string name(kNames[static_cast<size_t>(kind)]);
  return kind == Kind::kPercentile ? fmt::format("{}:{}", name, percentile) : name;
}

Result<RangeRule> ParseRangeRule(std::string_view text) {
  const size_t colon = text.find(':');
  const auto* found = std::ranges::find(kNames, text.substr(0, colon));
  if (found == std::end(kNames)) {
    return Usage("observer '{}' is not known", text)
        .Want("minmax, percentile, percentile:P, mse or entropy");
  }
  RangeRule rule{.kind = static_cast<RangeRule::Kind>(found - kNames)};
  if (colon == text.npos) return rule;
  const std::string_view number = text.substr(colon + 1);
  const char* end = number.data() + number.size();
  const auto parsed = std::from_chars(number.data(), end, rule.percentile);
  if (rule.kind != RangeRule::Kind::kPercentile || parsed.ec != std::errc() || parsed.ptr != end ||
      !(rule.percentile > kLeastPercentile && rule.percentile <= 100))
    return BadPercentile(text);
  return rule;
}

namespace {

// Levels low … high times a step.
struct Grid {
  double step, low, high;

  // ∫ (u - q(u))² du from 0 to t, in steps; q is the closest level.
  double ErrorUpTo(double t) const {
    const double q = std::clamp(std::rint(t), low, high);
    return q / 12 + (t - q) * (t - q) * (t - q) / 3;
  }
};

Grid GridOf(const MinMax& range, const RangeUse& use) {
  const int half = use.levels() / 2;
  if (use.symmetric) return {range.max_abs() / (half - 1), -1.0 * half, half - 1.0};
  const double step = (static_cast<double>(range.max) - range.min) / (use.levels() - 1);
  const double low = std::rint(range.min / step);
  return {step, low, low + use.levels() - 1};
}

// body(bin, elements in it)
template <typename Body>
void ForEachFilledBin(const Histogram& histogram, const Body& body) {
  const auto counts = histogram.counts();
  for (size_t bin = 0; bin < counts.size(); ++bin)
    if (counts[bin] != 0) body(static_cast<int>(bin), static_cast<double>(counts[bin]));
}

}  // namespace

double SquaredError(const Histogram& histogram, const MinMax& range, const RangeUse& use) {
  const Grid grid = GridOf(range, use);
  if (!(grid.step > 0)) return std::numeric_limits<double>::infinity();
  double error = 0;
  ForEachFilledBin(histogram, [&](int bin, double count) {
    const double from = histogram.edge(bin) / grid.step;
    const double to = histogram.edge(bin + 1) / grid.step;
    error += count * (grid.ErrorUpTo(to) - grid.ErrorUpTo(from)) / (to - from);
  });
  return error * grid.step * grid.step;
}

namespace {

// P and Q over the bins [first, first + p.size()).
struct Distributions {
  std::vector<double> p, inside;
  double total = 0, total_inside = 0;
};

Distributions Cut(const Histogram& histogram, int first, int end) {
  Distributions cut;
  cut.p.resize(static_cast<size_t>(end - first));
  cut.inside.resize(cut.p.size());
  ForEachFilledBin(histogram, [&](int bin, double count) {
    cut.p[static_cast<size_t>(std::clamp(bin, first, end - 1) - first)] += count;
    cut.total += count;
    if (bin < first || bin >= end) return;
    cut.inside[static_cast<size_t>(bin - first)] = count;
    cut.total_inside += count;
  });
  return cut;
}

// Σ P log(P / Q) over one group of bins, whose Q is the same in all bins with P.
double GroupDivergence(const Distributions& cut, size_t begin, size_t end) {
  double sum = 0, filled = 0, divergence = 0;
  for (size_t bin = begin; bin < end; ++bin) sum += cut.inside[bin], filled += cut.p[bin] > 0;
  const double q = filled > 0 ? sum / filled / cut.total_inside : 0;
  for (size_t bin = begin; bin < end; ++bin) {
    const double p = cut.p[bin] / cut.total;
    if (p > 0) divergence += p * std::log(p / q);
  }
  return divergence;
}

}  // namespace

double Divergence(const Histogram& histogram, const MinMax& range, int levels) {
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  const double width = histogram.width();
  const int first = static_cast<int>(std::floor(range.min / width)) + Histogram::kBins / 2;
  const int end = static_cast<int>(std::floor(range.max / width)) + 1 + Histogram::kBins / 2;
  if (first < 0 || end > Histogram::kBins || end <= first) return kInfinite;
  const Distributions cut = Cut(histogram, first, end);
  const auto size = cut.p.size(), groups = static_cast<size_t>(levels);
  if (cut.total_inside == 0 || (size < groups && cut.total_inside < cut.total)) return kInfinite;
  double divergence = 0;
  for (size_t group = 0; group < groups; ++group)
    divergence += GroupDivergence(cut, group * size / groups, (group + 1) * size / groups);
  return divergence;
}

namespace {

MinMax Percentile(const RangeRule& rule, const MinMax& seen, const Histogram& histogram) {
  const double tail = (100 - rule.percentile) / 200;
  const auto low = static_cast<float>(histogram.Quantile(tail));
  const auto high = static_cast<float>(histogram.Quantile(1 - tail));
  return {std::clamp(low, seen.min, 0.0f), std::clamp(high, 0.0f, seen.max)};
}

// Searches the ranges that the ends can shrink to: one after the other while that helps.
class RangeSearch {
 public:
  RangeSearch(const RangeRule& rule, const RangeUse& use, const Histogram& histogram)
      : entropy_(rule.kind == RangeRule::Kind::kEntropy), use_(use), histogram_(histogram) {}

  MinMax Run(const MinMax& seen) {
    best_ = seen;
    least_ = Loss(seen);
    if (use_.symmetric) {
      Shrink([](MinMax& range, float by) { range.min *= by, range.max *= by; });
      return best_;
    }
    for (int round = 0; round < kMostRounds; ++round) {
      const double before = least_;
      ShrinkEnd(&MinMax::max, seen.max);
      ShrinkEnd(&MinMax::min, seen.min);
      if (!(least_ < before)) break;
    }
    return best_;
  }

 private:
  double Loss(const MinMax& range) const {
    return entropy_ ? Divergence(histogram_, range, use_.levels())
                    : SquaredError(histogram_, range, use_);
  }

  void ShrinkEnd(float MinMax::* end, float seen) {
    if (seen != 0) Shrink([=](MinMax& range, float by) { range.*end = seen * by; });
  }

  template <typename Change>
  void Shrink(const Change& change) {
    const MinMax from = best_;
    for (int i = 0; i < kTries; ++i) {
      MinMax range = from;
      change(range, std::exp2(-static_cast<float>(i) / kTriesPerOctave));
      const double loss = Loss(range);
      if (loss < least_) least_ = loss, best_ = range;
    }
  }

  bool entropy_;
  RangeUse use_;
  const Histogram& histogram_;
  MinMax best_;
  double least_ = 0;
};

}  // namespace

MinMax ChooseRange(const RangeRule& rule, const RangeUse& use, const MinMax& seen,
                   const Histogram& histogram) {
  if (rule.kind == RangeRule::Kind::kMinMax || histogram.count() == 0) return seen;
  if (rule.kind == RangeRule::Kind::kPercentile) return Percentile(rule, seen, histogram);
  const MinMax whole = use.symmetric ? MinMax{-seen.max_abs(), seen.max_abs()} : seen;
  return RangeSearch(rule, use, histogram).Run(whole);
}

}  // namespace hexlane
