#include "runtime/sample/sampler.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <map>

namespace hexlane {
namespace {
using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

// Probabilities 0.5, 0.25, 0.15, 0.1 at temperature 1.
const std::vector<float> kLogits = {std::log(0.15f), std::log(0.5f), std::log(0.1f),
                                    std::log(0.25f)};
constexpr int kDraws = 20000;

std::map<int32_t, double> Shares(const SamplerOptions& options) {
  Sampler sampler(options, 4);
  std::map<int32_t, double> shares;
  for (int i = 0; i < kDraws; ++i) shares[sampler.Sample(kLogits, {})] += 1.0 / kDraws;
  return shares;
}

std::vector<int32_t> Drawn(const SamplerOptions& options) {
  std::vector<int32_t> ids;
  for (const auto& [id, share] : Shares(options)) ids.push_back(id);
  return ids;
}

TEST(Sampler, IsGreedyAtTemperatureZero) {
  EXPECT_THAT(Drawn({.top_k = 3, .seed = 5}), ElementsAre(1));
}

TEST(Sampler, DrawsByProbability) {
  // 5 standard deviations of a share of kDraws draws: at most 5 * sqrt(0.25 / kDraws) = 0.018.
  auto shares = Shares({.temperature = 1, .seed = 1});
  EXPECT_NEAR(shares[0], 0.15, 0.018);
  EXPECT_NEAR(shares[1], 0.5, 0.018);
  EXPECT_NEAR(shares[2], 0.1, 0.018);
  EXPECT_NEAR(shares[3], 0.25, 0.018);
}

TEST(Sampler, SharpensAtALowTemperature) {
  auto shares = Shares({.temperature = 0.5, .seed = 1});  // squares: 0.25 of 0.345
  EXPECT_NEAR(shares[1], 0.7246, 0.018);
}

TEST(Sampler, KeepsTheBestK) {
  EXPECT_THAT(Drawn({.temperature = 1, .top_k = 2}), UnorderedElementsAre(1, 3));
  EXPECT_THAT(Drawn({.temperature = 1, .top_k = 1}), ElementsAre(1));
  EXPECT_EQ(Drawn({.temperature = 1, .top_k = 9}).size(), 4u);
}

TEST(Sampler, KeepsTheSmallestSetThatReachesP) {
  EXPECT_THAT(Drawn({.temperature = 1, .top_p = 0.49}), ElementsAre(1));
  EXPECT_THAT(Drawn({.temperature = 1, .top_p = 0.6}), UnorderedElementsAre(1, 3));
  EXPECT_THAT(Drawn({.temperature = 1, .top_p = 0.8}), UnorderedElementsAre(0, 1, 3));
  EXPECT_THAT(Drawn({.temperature = 1, .top_p = 0}), ElementsAre(1));
}

TEST(Sampler, KeepsWhatIsNotFarBehindTheBest) {
  EXPECT_THAT(Drawn({.temperature = 1, .min_p = 0.25}), UnorderedElementsAre(0, 1, 3));
  EXPECT_THAT(Drawn({.temperature = 1, .min_p = 2}), ElementsAre(1));
}

TEST(Sampler, PenalisesATokenOnceHoweverOftenItCame) {
  const std::vector<float> logits = {3, 4, -1, -2};
  Sampler sampler({.repetition_penalty = 1.5}, 4);
  EXPECT_EQ(sampler.Sample(logits, std::vector<int32_t>{1, 1, 1}), 0);  // 4 / 1.5 < 3
  EXPECT_EQ(sampler.Sample(logits, std::vector<int32_t>{0, 1, 1}), 1);  // 4 / 1.5 > 3 / 1.5
  EXPECT_EQ(sampler.Sample({logits.begin() + 2, logits.end()}, {}), 0);
  Sampler strong({.repetition_penalty = 3}, 2);
  EXPECT_EQ(strong.Sample({logits.begin() + 2, logits.end()}, std::vector<int32_t>{0}), 1);
}

TEST(Sampler, GivesTheSameTokensForTheSameSeed) {
  const auto draw = [](uint64_t seed) {
    Sampler sampler({.temperature = 1, .seed = seed}, 4);
    std::vector<int32_t> ids;
    for (int i = 0; i < 50; ++i) ids.push_back(sampler.Sample(kLogits, {}));
    return ids;
  };
  EXPECT_EQ(draw(7), draw(7));
  EXPECT_NE(draw(7), draw(8));
}

TEST(Sampler, NeverDrawsNaN) {
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  Sampler sampler({.temperature = 1}, 3);
  for (int i = 0; i < 100; ++i) EXPECT_NE(sampler.Sample(std::vector<float>{1, kNaN, 1}, {}), 1);
  EXPECT_GE(sampler.Sample(std::vector<float>{kNaN, kNaN, kNaN}, {}), 0);
}

}  // namespace
}  // namespace hexlane
