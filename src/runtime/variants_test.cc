#include "runtime/variants.h"

#include <gmock/gmock.h>

namespace hexlane {
namespace {
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Plan PlanOf(std::vector<std::pair<std::string, std::string>> names_and_socs) {
  Plan plan;
  for (auto& [name, soc] : names_and_socs) plan.variants.push_back({.name = name, .soc = soc});
  return plan;
}
const Plan kFull = PlanOf({{"cpu", ""},
                           {"SM8550", "SM8550"},
                           {"SM8550-emulator", "SM8550"},
                           {"SM8650", "SM8650"},
                           {"SM8650-emulator", "SM8650"}});

std::vector<std::string> Names(const Plan& plan, const EngineOptions& options) {
  const auto candidates = SelectVariants(plan, options);
  if (!candidates) return {candidates.error().ToString()};
  std::vector<std::string> names;
  for (const Variant* variant : candidates->variants) names.push_back(variant->name);
  return names;
}

TEST(SelectVariants, TriesNpusThenCpuByItself) {
  EXPECT_THAT(Names(kFull, {}), ElementsAre("SM8550", "SM8650", "cpu"));
  EXPECT_THAT(Names(kFull, {.soc = "SM8650"}), ElementsAre("SM8650", "cpu"));
}

TEST(SelectVariants, SaysWhyNoNpuIsTried) {
  const Plan plan = PlanOf({{"cpu", ""}, {"SM8650-emulator", "SM8650"}});
  EXPECT_THAT(SelectVariants(plan, {})->reasons, ElementsAre("the package has no NPU variant"));
  // Nothing fell back where the package is for the CPU.
  EXPECT_THAT(SelectVariants(PlanOf({{"cpu", ""}}), {})->reasons, ElementsAre());
}

TEST(SelectVariants, TriesEmulatorsAfterNpusWhenAskedForHtp) {
  EXPECT_THAT(Names(kFull, {.backend = "htp", .soc = "SM8650"}),
              ElementsAre("SM8650", "SM8650-emulator"));
}

TEST(SelectVariants, FindsAVariantByName) {
  EXPECT_THAT(Names(kFull, {.backend = "cpu"}), ElementsAre("cpu"));
  EXPECT_THAT(Names(kFull, {.backend = "SM8550-emulator"}), ElementsAre("SM8550-emulator"));
  EXPECT_THAT(Names(PlanOf({{"SM8650-emulator", "SM8650"}}), {.backend = "SM8650"}),
              ElementsAre("SM8650-emulator"));
}

TEST(SelectVariants, ListsWhatThereIs) {
  const auto none = SelectVariants(kFull, {.backend = "htp", .soc = "SM9999"});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, Code::kUsage);
  EXPECT_THAT(none.error().want, HasSubstr("SM8550-emulator, SM8650"));
  EXPECT_EQ(SelectVariants(kFull, {.backend = "gpu"}).error().got, "backend 'gpu'");
}

TEST(SelectVariants, UnknownNamesAreUsageAndWhatAPackageCouldHaveIsUnsupported) {
  const Plan cpu = PlanOf({{"cpu", ""}});
  EXPECT_EQ(SelectVariants(cpu, {.backend = "nope"}).error().code, Code::kUsage);
  EXPECT_EQ(SelectVariants(cpu, {.soc = "NOPE"}).error().code, Code::kUsage);
  EXPECT_EQ(SelectVariants(cpu, {.backend = "cpu", .soc = "SM8650"}).error().code, Code::kUsage);
  EXPECT_EQ(SelectVariants(kFull, {.soc = "SM8750"}).error().code, Code::kUsage);
  EXPECT_EQ(SelectVariants(cpu, {.backend = "htp"}).error().code, Code::kUnsupported);
}

DeviceSoc Phone(std::string_view name) { return {.kernel_id = 1, .target = *FindTarget(name)}; }
const Plan kPhones =
    PlanOf({{"cpu", ""}, {"SM8450", "SM8450"}, {"SM8650", "SM8650"}, {"SM8750", "SM8750"}});

TEST(SelectVariants, ThePhonesOwnComesFirstThenEarlierGenerations) {
  const auto candidates = SelectVariants(kPhones, {}, Phone("SM8750"));
  std::vector<std::string> names;
  for (const Variant* variant : candidates->variants) names.push_back(variant->name);
  EXPECT_THAT(names, ElementsAre("SM8750", "SM8650", "SM8450", "cpu"));
}

TEST(SelectVariants, LaterGenerationsThanThePhonesAreNotTriedAndTheReasonNamesBoth) {
  const auto candidates = SelectVariants(kPhones, {}, Phone("SM8550"));
  std::vector<std::string> names;
  for (const Variant* variant : candidates->variants) names.push_back(variant->name);
  EXPECT_THAT(names, ElementsAre("SM8450", "cpu"));
  EXPECT_THAT(candidates->reasons,
              ElementsAre("SM8650: made for HTP V75, this is SM8550 (Snapdragon 8 Gen 2, V73)",
                          "SM8750: made for HTP V79, this is SM8550 (Snapdragon 8 Gen 2, V73)"));
}

TEST(SelectVariants, ARefusalNamesThePhoneAndWhatThereIs) {
  const Plan plan = PlanOf({{"SM8750", "SM8750"}});
  const auto refused = SelectVariants(plan, {.backend = "htp"}, Phone("SM8550"));
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().ToString(), HasSubstr("on SM8550 (Snapdragon 8 Gen 2, V73)"));
  EXPECT_THAT(refused.error().ToString(), HasSubstr("SM8750"));
}

}  // namespace
}  // namespace hexlane
