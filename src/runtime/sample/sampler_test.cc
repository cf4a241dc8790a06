#include "runtime/sample/sampler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace hexlane {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

std::vector<int> Counts(const SamplerOptions& options, const std::vector<float>& logits, int draws,
                        const std::vector<int32_t>& history = {}) {
  Sampler sampler(options, static_cast<int>(logits.size()));
  std::vector<int> counts(logits.size());
  for (int i = 0; i < draws; ++i)
    ++counts[static_cast<size_t>(sampler.Sample(logits, history).value())];
  return counts;
}

int32_t One(const SamplerOptions& options, const std::vector<float>& logits,
            const std::vector<int32_t>& history = {}) {
  return Sampler(options, static_cast<int>(logits.size())).Sample(logits, history).value();
}

// Pearson's statistic of `counts` against the weights of `want`; an id of weight 0 must not occur.
double ChiSquare(const std::vector<int>& counts, const std::vector<double>& want) {
  double draws = 0, total = 0, sum = 0;
  for (const int count : counts) draws += count;
  for (const double weight : want) total += weight;
  for (size_t i = 0; i < counts.size(); ++i) {
    const double expected = draws * want[i] / total;
    if (expected == 0) {
      EXPECT_EQ(counts[i], 0) << "id " << i;
      continue;
    }
    sum += (counts[i] - expected) * (counts[i] - expected) / expected;
  }
  return sum;
}

const std::vector<float> kLogits = {1.0f, 3.0f, 2.0f, -1.0f, 2.5f, 0.0f};
constexpr int kDraws = 20000;
constexpr double kLimit = 25.7;  // chi-square, 5 degrees of freedom, p = 1e-4

std::vector<double> Weights(double temperature, const std::vector<size_t>& kept) {
  std::vector<double> weights(kLogits.size());
  for (const size_t i : kept) weights[i] = std::exp(double{kLogits[i]} / temperature);
  return weights;
}

TEST(Sampler, GreedyTakesTheLowestIdAmongTheBest) {
  EXPECT_EQ(One({}, {1, 5, 5, 2}), 1);
  EXPECT_EQ(One({}, {-kInf, kNan, -3, -kInf}), 2);
  EXPECT_EQ(One({}, {1, kInf, kInf}), 1);
}

TEST(Sampler, DrawsByProbability) {
  for (const float temperature : {0.5f, 1.0f, 2.0f}) {
    SCOPED_TRACE(temperature);
    const std::vector<int> counts =
        Counts({.temperature = temperature, .seed = 7}, kLogits, kDraws);
    EXPECT_LT(ChiSquare(counts, Weights(temperature, {0, 1, 2, 3, 4, 5})), kLimit);
  }
}

TEST(Sampler, TopKKeepsTheBest) {
  const std::vector<int> counts =
      Counts({.temperature = 1, .top_k = 3, .seed = 1}, kLogits, kDraws);
  EXPECT_LT(ChiSquare(counts, Weights(1, {1, 2, 4})), kLimit);
}

// Probabilities 0.448, 0.272, 0.165, …: the third crosses 0.8.
TEST(Sampler, TopPKeepsTheFewestThatReachIt) {
  const std::vector<int> counts =
      Counts({.temperature = 1, .top_p = 0.8f, .seed = 2}, kLogits, kDraws);
  EXPECT_LT(ChiSquare(counts, Weights(1, {1, 2, 4})), kLimit);
  EXPECT_EQ(Counts({.temperature = 1, .top_p = 0.01f}, kLogits, 100)[1], 100);
}

// exp(2 - 3) = 0.37 of the best, exp(2.5 - 3) = 0.61.
TEST(Sampler, MinPIsRelativeToTheBest) {
  const std::vector<int> counts =
      Counts({.temperature = 1, .min_p = 0.5f, .seed = 3}, kLogits, kDraws);
  EXPECT_LT(ChiSquare(counts, Weights(1, {1, 4})), kLimit);
}

TEST(Sampler, AppliesTopPToWhatTopKLeft) {
  // The two best alone have 0.62 and 0.38, so 0.6 is reached by the first.
  EXPECT_EQ(Counts({.temperature = 1, .top_k = 2, .top_p = 0.6f}, kLogits, 200)[1], 200);
}

TEST(Sampler, PenalisesWhatTheWindowHolds) {
  const std::vector<float> logits = {4, 3.5f, -1};
  SamplerOptions options{.repetition_penalty = 2};
  EXPECT_EQ(One(options, logits), 0);
  EXPECT_EQ(One(options, logits, {0, 0, 0}), 1);  // once: 4 / 2
  EXPECT_EQ(One(options, {-2, -3}, {0}), 1);      // a negative logit: -2 * 2
  options.repetition_window = 1;
  EXPECT_EQ(One(options, logits, {0, 2}), 0);
  options.repetition_window = -1;
  EXPECT_EQ(One(options, logits, {0, 2}), 1);
  options.repetition_window = 0;
  EXPECT_EQ(One(options, logits, {0}), 0);
  EXPECT_EQ(One({.repetition_penalty = 2}, logits, {-5, 1000000}), 0);
}

TEST(Sampler, GivesTheSameTokensForASeedOnEveryMachine) {
  Sampler sampler({.temperature = 1, .seed = 42}, 6);
  std::vector<int32_t> first, second;
  for (int i = 0; i < 12; ++i) first.push_back(sampler.Sample(kLogits, {}).value());
  sampler.Reseed(42);
  for (int i = 0; i < 12; ++i) second.push_back(sampler.Sample(kLogits, {}).value());
  EXPECT_EQ(first, second);
  EXPECT_THAT(first, ElementsAre(1, 1, 2, 4, 5, 4, 4, 4, 4, 2, 2, 1));
}

TEST(Sampler, MatchesThePublishedGenerator) {  // xoshiro256** from SplitMix64(0)
  RandomStream random(0);
  EXPECT_EQ(random.Next(), 0x99EC5F36CB75F2B4u);
  EXPECT_EQ(random.Next(), 0xBF6E1F784956452Au);
}

TEST(Sampler, SurvivesExtremeLogits) {
  EXPECT_EQ(One({.temperature = 1e-30f}, {1, 2, 1.5f}), 1);
  EXPECT_EQ(Counts({.temperature = 1}, {kNan, 0, kNan}, 50)[1], 50);
  EXPECT_EQ(Counts({.temperature = 1}, {kInf, 0, -kInf}, 50)[0], 50);
  EXPECT_LT(One({.temperature = 1e30f, .top_p = 0.5f}, {3e38f, -3e38f}), 2);
}

TEST(Sampler, LargeVocabularyTopPAgreesWithAFullSort) {
  std::vector<float> logits(5000);
  for (size_t i = 0; i < logits.size(); ++i) logits[i] = static_cast<float>((i * 37) % 5000) / 2500;
  std::vector<float> sorted = logits;
  std::sort(sorted.rbegin(), sorted.rend());
  double total = 0, reached = 0;
  for (const float logit : sorted) total += std::exp(double{logit});
  size_t kept = 0;
  while (reached < 0.5f * total) reached += std::exp(double{sorted[kept++]});
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const int32_t id = One({.temperature = 1, .top_p = 0.5f, .seed = seed}, logits);
    EXPECT_GE(logits[static_cast<size_t>(id)], sorted[kept - 1]);
  }
}

TEST(Sampler, ReportsLogitsWithoutAnyChoice) {
  Sampler sampler({}, 2);
  EXPECT_THAT(sampler.Sample(std::vector<float>{kNan, -kInf}, {}).error().what, HasSubstr("NaN"));
  EXPECT_FALSE(sampler.Sample(std::vector<float>{1}, {}).has_value());
}

TEST(Sampler, NamesTheOptionThatIsOutOfRange) {
  const auto error = [](const SamplerOptions& options) {
    const Result<void> result = CheckSamplerOptions(options);
    return result ? "" : result.error().what;
  };
  EXPECT_EQ(error({}), "");
  EXPECT_THAT(error({.temperature = -1}), HasSubstr("temperature"));
  EXPECT_THAT(error({.temperature = kNan}), HasSubstr("temperature"));
  EXPECT_THAT(error({.top_k = -1}), HasSubstr("top_k"));
  EXPECT_THAT(error({.top_p = 0}), HasSubstr("top_p"));
  EXPECT_THAT(error({.min_p = 1.5f}), HasSubstr("min_p"));
  EXPECT_THAT(error({.repetition_penalty = 0}), HasSubstr("repetition_penalty"));
  EXPECT_THAT(error({.repetition_window = -2}), HasSubstr("repetition_window"));
}

}  // namespace
}  // namespace hexlane
