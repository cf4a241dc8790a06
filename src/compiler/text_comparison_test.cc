#include "compiler/text_comparison.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/file.h"
#include "base/json.h"
#include "kernels/sample/softmax.h"

namespace hexlane {
namespace {

// Made by tests/data/eval/make_eval.py in float64.
Json Golden() {
  return Json::parse(
      *ReadTextFile(std::string(HEXLANE_TEST_DATA) + "/eval/eval.json"))["comparison"];
}

// Logits are floats up to 25 (2^-19 apart from 16 on): two of them are off by at most 2^-19, their
// weighted sum and the logarithms as well.
constexpr double kTolerance = 4 * 0x1p-19;

TEST(KlDivergence, IsTheDefinitions) {
  const Json golden = Golden();
  const std::vector<float> model = golden["model"], reference = golden["reference"];
  const std::vector<double> kl = golden["kl"];
  const size_t vocab = golden["vocab"];
  ASSERT_EQ(model.size(), kl.size() * vocab);
  for (size_t row = 0; row < kl.size(); ++row) {
    const auto m = std::span(model).subspan(row * vocab, vocab);
    const auto r = std::span(reference).subspan(row * vocab, vocab);
    EXPECT_NEAR(KlDivergence(m, r), kl[row], kTolerance) << row;
  }
}

TEST(KlDivergence, OfEqualDistributionsIsZeroWhateverTheConstant) {
  const std::vector<float> logits = {1, 2, 3, -4}, shifted = {9, 10, 11, 4};
  EXPECT_DOUBLE_EQ(KlDivergence(logits, logits), 0);
  EXPECT_NEAR(KlDivergence(shifted, logits), 0, 1e-6);
  EXPECT_GE(KlDivergence(shifted, logits), 0);
}

TEST(KlDivergence, OfWhatIsNoNumberIsNone) {
  const std::vector<float> logits = {1, 2};
  const std::vector<float> broken = {1, std::numeric_limits<float>::quiet_NaN()};
  EXPECT_TRUE(std::isnan(KlDivergence(broken, logits)));
  EXPECT_TRUE(std::isnan(KlDivergence(logits, broken)));
}

TEST(TextComparison, FiguresAreTheDefinitions) {
  const Json golden = Golden();
  const std::vector<float> model = golden["model"], reference = golden["reference"];
  const std::vector<int> targets = golden["targets"];
  const size_t vocab = golden["vocab"];
  TextComparisonSum sum;
  for (size_t row = 0; row < targets.size(); ++row) {
    const auto m = std::span(model).subspan(row * vocab, vocab);
    const auto r = std::span(reference).subspan(row * vocab, vocab);
    sum.Add({.kl = KlDivergence(m, r),
             .log_likelihood = -NegativeLogLikelihood(m, targets[row]),
             .reference_log_likelihood = -NegativeLogLikelihood(r, targets[row]),
             .same_best = ArgMax(m) == ArgMax(r)});
  }
  const TextComparison got = sum.Summary();
  const auto near = [&](double value, const char* name) {
    EXPECT_NEAR(value, golden[name].get<double>(), kTolerance) << name;
  };
  EXPECT_NEAR(std::log(got.perplexity), std::log(golden["perplexity"].get<double>()), kTolerance);
  near(got.log_perplexity_increase, "log_perplexity_increase");
  near(got.log_perplexity_increase_stderr, "log_perplexity_increase_stderr");
  near(got.log_perplexity_mean_abs_difference, "log_perplexity_mean_abs_difference");
  near(got.kl_mean, "kl_mean");
  near(got.kl_p99, "kl_p99");
  near(got.kl_max, "kl_max");
  near(got.top1, "top1");
}

TEST(MeanOf, OneValueHasNoStandardError) {
  const std::vector<double> one = {3};
  EXPECT_DOUBLE_EQ(MeanOf(one).mean, 3);
  EXPECT_TRUE(std::isnan(MeanOf(one).standard_error));
}

TEST(Quantile, LiesBetweenTheTwoNearestValues) {
  EXPECT_DOUBLE_EQ(Quantile({4, 1, 3, 2}, 0.5), 2.5);
  EXPECT_DOUBLE_EQ(Quantile({4, 1, 3, 2}, 1), 4);
  EXPECT_DOUBLE_EQ(Quantile({7}, 0.99), 7);
}

}  // namespace
}  // namespace hexlane
