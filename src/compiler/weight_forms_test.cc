#include "compiler/weight_forms.h"

#include <gmock/gmock.h>

#include <random>

#include "quant/algorithm/small_decoder.h"

namespace hexlane {
namespace {

using ::testing::Contains;
using ::testing::IsSupersetOf;
using ::testing::Not;

// Of the layer of SmallDecoder, whose matrices have 48, 32 and 96 columns.
std::map<std::string, std::set<Scheme>> Refused(std::string_view scheme,
                                                const std::vector<const Target*>& targets) {
  const Result<NpuForms> forms = NpuForms::Create({.scheme = *FindQuantScheme(scheme)}, targets);
  return *forms->Refused(testing::SmallDecoder()[1]);
}

TEST(WeightForms, IntegerActivationsGoWithIntegerScalesAndChannels) {
  const auto refused = Refused("w4a16", {*FindTarget("SM8650")});
  const std::set<Scheme>& down = refused.at("down.weight");
  EXPECT_THAT(down, IsSupersetOf({Scheme::kW4Affine32, Scheme::kW4Block32, Scheme::kPlain}));
  for (const Scheme scheme : {Scheme::kW8Channel, Scheme::kW4Channel, Scheme::kW3Channel,
                              Scheme::kW4Lpbq16, Scheme::kW4Lpbq32, Scheme::kW3Lpbq32})
    EXPECT_THAT(down, Not(Contains(scheme))) << Info(scheme).name;
}

TEST(WeightForms, FloatActivationsGoWithBlocksThatDivideTheColumns) {
  const auto refused = Refused("w8-f16", {*FindTarget("SM8650")});
  // 96 columns are blocks of 32, which those of 64 and 128 become; 48 are none of an affine form.
  EXPECT_FALSE(refused.contains("down.weight"));
  EXPECT_THAT(refused.at("up.weight"), Contains(Scheme::kW4Affine32));
  EXPECT_THAT(refused.at("up.weight"), Not(Contains(Scheme::kW4Lpbq64))) << "it becomes of 16";
}

TEST(WeightForms, SuitEveryTargetOrWithoutAnyTheBest) {
  const Target *old = *FindTarget("SM8350"), *later = *FindTarget("SM8650");
  ASSERT_LT(old->arch, HtpArch::kV69);
  EXPECT_THAT(Refused("w8-f16", {later, old}).at("down.weight"), Contains(Scheme::kW4Affine32));
  EXPECT_FALSE(Refused("w8-f16", {}).contains("down.weight"));
}

TEST(WeightForms, CostWhatIsStoredAndLoseWhatRoundingLoses) {
  // Sixteenths from -1 on: what blocks of 4 bits with a minimum hold and 4 signed bits do not.
  std::vector<float> values(1024 * 32);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 16) / 16 - 1;
  const Tensor matrix = Tensor::FromFloats(values, {1024, 32});
  const FormTrials trials = *FormTrials::Create(matrix.view(), {}, nullptr, nullptr);
  const WeightForm affine = *trials.Try(Scheme::kW4Affine32);
  EXPECT_EQ(affine.error, 0);
  EXPECT_EQ(affine.bits, 1024 * 32 * 5);
  const WeightForm channel = *trials.Try(Scheme::kW4Channel);
  EXPECT_GT(channel.error, 0);
  EXPECT_EQ(channel.error, *trials.NearestError(Scheme::kW4Channel));
  EXPECT_EQ(channel.bits, 1024 * 32 * 5) << "a float32 for 32 columns";
  EXPECT_EQ(trials.Try(Scheme::kPlain)->bits, 1024 * 32 * 16);
}

TEST(WeightForms, LoseLessAtTheOutputByTheAlgorithmThatLooksAtTheInputs) {
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  std::vector<float> values(64 * 32), inputs(256 * 32);
  for (float& value : values) value = normal(random);
  for (size_t i = 0; i < inputs.size(); ++i)  // neighbours that go together
    inputs[i] = i % 32 ? 0.9f * inputs[i - 1] + 0.4f * normal(random) : normal(random);
  Moments moments;
  moments.Add({inputs.data(), 256, 32}, nullptr);
  const Tensor matrix = Tensor::FromFloats(values, {64, 32});
  const auto error = [&](const Algorithm& algorithm) {
    return FormTrials::Create(matrix.view(), algorithm, &moments, nullptr)
        ->Try(Scheme::kW4Channel)
        ->error;
  };
  EXPECT_LT(error({.search = true}), error({}));
  EXPECT_LT(error({.search = true, .gptq = true}), 0.7 * error({.search = true}));
}

}  // namespace
}  // namespace hexlane
