#include "quant/schemes.h"

#include <gtest/gtest.h>

#include "formats/checkpoint.h"
#include "target/target.h"

namespace hexlane {
namespace {

TEST(QuantSchemes, AreFoundByName) {
  for (const QuantScheme& scheme : AllQuantSchemes())
    EXPECT_EQ(*FindQuantScheme(scheme.name), &scheme);
  const Result<const QuantScheme*> unknown = FindQuantScheme("w3");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, Code::kUsage);
  EXPECT_TRUE(unknown.error().want.starts_with("one of: f16, w8a16, w4a16, w4-exact, "));
}

TEST(QuantSchemes, KvBitsMustFitSchemeAndTarget) {
  const QuantScheme* w4a16 = *FindQuantScheme("w4a16");
  const QuantScheme* f16 = *FindQuantScheme("f16");
  EXPECT_FALSE(CheckQuantOptions({w4a16, 4}, nullptr));
  EXPECT_FALSE(CheckQuantOptions({f16, 8}, nullptr));
  EXPECT_FALSE(CheckQuantOptions({*FindQuantScheme("w4-asym"), 8}, nullptr));
  EXPECT_TRUE(CheckQuantOptions({*FindQuantScheme("w8a8"), 8}, *FindTarget("SM8450")));
  EXPECT_FALSE(CheckQuantOptions({*FindQuantScheme("w8a8"), 16}, *FindTarget("SM8450")));
  EXPECT_TRUE(CheckQuantOptions({w4a16, 16}, *FindTarget("SM8550")));
  EXPECT_FALSE(CheckQuantOptions({w4a16, 16}, *FindTarget("SM8450")));
  EXPECT_TRUE(CheckQuantOptions({w4a16, 8}, *FindTarget("SM8450")));
  EXPECT_TRUE(CheckQuantOptions({f16, 16}, *FindTarget("SM8450")));
}

TEST(QuantSchemes, AlgorithmsNeedWeightsToRound) {
  const auto check = [](std::string_view scheme, std::string_view algorithm) {
    return CheckQuantOptions({*FindQuantScheme(scheme), 16, *ParseAlgorithm(algorithm)}, nullptr);
  };
  EXPECT_TRUE(check("w4a16", "rotate+search+gptq"));
  EXPECT_TRUE(check("f16", "rtn"));
  EXPECT_FALSE(check("f16", "rotate"));
  EXPECT_FALSE(check("w4-exact", "gptq"));
  EXPECT_FALSE(check("w4a16", "awq+smooth"));
}

std::string_view DefaultFor(const std::string& path) {
  const auto checkpoint = Checkpoint::Open(std::string(HEXLANE_TEST_DATA) + path);
  if (!checkpoint) ADD_FAILURE() << checkpoint.error().ToString();
  return checkpoint ? DefaultQuantScheme(**checkpoint).name : "";
}

TEST(QuantSchemes, TheDefaultFollowsHowTheCheckpointIsStored) {
  EXPECT_EQ(DefaultFor("/../../.assets/SmolLM2-135M-Instruct.Q4_1.gguf"), "w4-exact");
  EXPECT_EQ(DefaultFor("/checkpoints/llama-gqa"), "w8a16");
  EXPECT_EQ(DefaultFor("/quantised_checkpoints/awq-4bit-128"), "w4-exact");
  EXPECT_EQ(DefaultFor("/quantised_checkpoints/gptq-8bit-128"), "w8a16");
  EXPECT_EQ(DefaultFor("/quantised_checkpoints/gptq-act-order"), "w8a16");
}

TEST(QuantSchemes, GroupsInAnOrderOfTheirOwnAreNotKept) {
  const auto checkpoint =
      *Checkpoint::Open(std::string(HEXLANE_TEST_DATA) + "/quantised_checkpoints/gptq-act-order");
  const Result<void> refused = CheckStorage(**FindQuantScheme("w4-exact"), *checkpoint);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kUnsupported);
  EXPECT_NE(refused.error().what.find("q_proj.weight'"), std::string::npos);
  EXPECT_NE(refused.error().remedy.find("desc_act false"), std::string::npos);
  EXPECT_TRUE(CheckStorage(**FindQuantScheme("w8a16"), *checkpoint));
}

TEST(QuantSchemes, KeepingBlocksNeedsACheckpointThatHasThem) {
  const std::string data = HEXLANE_TEST_DATA;
  const auto floats = *Checkpoint::Open(data + "/checkpoints/llama-gqa");
  const Result<void> refused = CheckStorage(**FindQuantScheme("w4-exact"), *floats);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kInvalidInput);
  EXPECT_EQ(refused.error().got, "BF16");
  EXPECT_TRUE(CheckStorage(**FindQuantScheme("w4a16"), *floats));
  const auto blocks = *Checkpoint::Open(data + "/../../.assets/SmolLM2-135M-Instruct.Q4_1.gguf");
  EXPECT_TRUE(CheckStorage(**FindQuantScheme("w4-exact"), *blocks));
}

}  // namespace
}  // namespace hexlane
