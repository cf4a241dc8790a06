#include "compiler/text_comparison.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/check.h"
#include "kernels/sample/softmax.h"

namespace hexlane {

double KlDivergence(std::span<const float> model, std::span<const float> reference) {
  CHECK(model.size() == reference.size());
  const double max = *std::max_element(reference.begin(), reference.end());
  double sum = 0, weighted = 0;  // of p, and of p times the difference, before normalisation
  for (size_t i = 0; i < model.size(); ++i) {
    const double p = std::exp(static_cast<float>(reference[i] - max));
    sum += p;
    weighted += p * (double{reference[i]} - model[i]);
  }
  const double kl = weighted / sum - (std::log(sum) + max) + LogSumExp(model);
  return kl < 0 ? 0 : kl;  // rounding; NaN stays
}

MeanAndError MeanOf(std::span<const double> values) {
  const auto n = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  if (values.size() < 2) return {mean, std::numeric_limits<double>::quiet_NaN()};
  return {mean, std::sqrt(squares / (n - 1) / n)};
}

double Quantile(std::vector<double> values, double q) {
  CHECK(!values.empty() && q >= 0 && q <= 1);
  std::ranges::sort(values);
  const double at = q * static_cast<double>(values.size() - 1);
  const auto below = static_cast<size_t>(at);
  const size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (at - std::floor(at)) * (values[above] - values[below]);
}

void TextComparisonSum::Add(const Position& position) {
  kl_.push_back(position.kl);
  increase_.push_back(position.reference_log_likelihood - position.log_likelihood);
  reference_.push_back(-position.reference_log_likelihood);
  same_best_ += position.same_best;
}

TextComparison TextComparisonSum::Summary() const {
  const MeanAndError increase = MeanOf(increase_);
  std::vector<double> absolute = increase_;
  for (double& value : absolute) value = std::abs(value);
  return {.perplexity = std::exp(MeanOf(reference_).mean),
          .log_perplexity_increase = increase.mean,
          .log_perplexity_increase_stderr = increase.standard_error,
          .log_perplexity_mean_abs_difference = MeanOf(absolute).mean,
          .kl_mean = MeanOf(kl_).mean,
          .kl_p99 = Quantile(kl_, 0.99),
          .kl_max = *std::ranges::max_element(kl_),
          .top1 = static_cast<double>(same_best_) / static_cast<double>(kl_.size())};
}

}  // namespace hexlane
