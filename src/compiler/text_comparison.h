// How far a model's next-token distributions are from a reference's over a text.
#ifndef HEXLANE_COMPILER_TEXT_COMPARISON_H_
#define HEXLANE_COMPILER_TEXT_COMPARISON_H_

#include <span>
#include <vector>

#include "hexlane/compiler.h"

namespace hexlane {

// KL(reference || model) in nats: the sum over tokens of p (log p - log q), p of the reference and
// q of the model. Both as logits, [vocab]; normalised here. Never negative.
double KlDivergence(std::span<const float> model, std::span<const float> reference);

// Mean and standard error of the mean (sample standard deviation over √n; NaN for n < 2).
struct MeanAndError {
  double mean = 0;
  double standard_error = 0;
};
MeanAndError MeanOf(std::span<const double> values);

// The value below which a share q of them lie, between the two nearest as NumPy's percentile does.
double Quantile(std::vector<double> values, double q);

// Adds up scored positions; about 32 bytes for each.
class TextComparisonSum {
 public:
  struct Position {
    double kl = 0;
    double log_likelihood = 0;            // of the next token by the model
    double reference_log_likelihood = 0;  // and by the reference
    bool same_best = false;
  };
  void Add(const Position& position);
  TextComparison Summary() const;  // of at least one position

 private:
  std::vector<double> kl_, increase_, reference_;
  int64_t same_best_ = 0;
};

}  // namespace hexlane

#endif  // HEXLANE_COMPILER_TEXT_COMPARISON_H_
