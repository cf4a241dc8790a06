#include "quant/algorithm/migrate.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "base/json.h"
#include "quant/algorithm/small_decoder.h"

namespace hexlane {
namespace {

struct Case {
  std::string name;
  int64_t k, rows;
  std::vector<float> x;
  std::vector<int32_t> groups;
  std::vector<std::vector<float>> weights;
  std::vector<float> awq, smooth;
  Moments moments;

  MatrixInput input() const {
    MatrixInput input{.moments = &moments, .matrices = {}, .groups = groups};
    for (const auto& w : weights) input.matrices.push_back({w, std::ssize(w) / k, k, name});
    return input;
  }
};

// Made by tests/data/quant/make_migrate.py from the methods' definitions.
std::vector<Case> Cases() {
  const Json document =
      Json::parse(*ReadTextFile(std::string(HEXLANE_TEST_DATA) + "/quant/migrate.json"));
  std::vector<Case> cases;
  for (const Json& json : document["cases"]) {
    Case test{json["name"],     json["k"],   json["rows"],   json["x"], json["groups"],
              json["matrices"], json["awq"], json["smooth"], {}};
    test.moments.Add({test.x.data(), test.rows, test.k}, nullptr);
    cases.push_back(std::move(test));
  }
  return cases;
}

void ExpectNear(const std::vector<float>& got, const std::vector<float>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-4f * want[i]) << i;
}

TEST(Migrate, AwqGivesTheFactorsOfTheDefinition) {
  const std::vector<Case> cases = Cases();
  EXPECT_EQ(cases.size(), 2u);
  for (const Case& test : cases) {
    SCOPED_TRACE(test.name);
    const auto factors = AwqFactors(test.input(), Scheme::kW4Affine32, nullptr);
    ASSERT_TRUE(factors);
    ExpectNear(*factors, test.awq);
  }
}

TEST(Migrate, SmoothQuantGivesTheFactorsOfTheDefinition) {
  for (const Case& test : Cases()) {
    SCOPED_TRACE(test.name);
    ExpectNear(SmoothFactors(test.input()), test.smooth);
  }
}

// Runs the decoder: its logits, and the moments of its values.
std::vector<float> Observe(const std::vector<Graph>& units, MomentsByValue& moments) {
  return testing::LogitsOf(units, [&](const Value& value, std::span<const float> values) {
    const int64_t dim = value.shape.last();
    if (value.shape.rank() == 2 && !values.empty())
      moments[value.name].Add({values.data(), std::ssize(values) / dim, dim}, nullptr);
  });
}

class MigrateUnit : public ::testing::TestWithParam<bool> {};

TEST_P(MigrateUnit, ChangesWeightsAndNothingElse) {
  std::vector<Graph> units = testing::SmallDecoder();
  MomentsByValue moments;
  const std::vector<float> want = Observe(units, moments);
  const Graph before = units[1];
  const auto changed = [&](std::string_view name) {
    const ValueId id = before.Find(name);
    return !std::ranges::equal(before.value(id).constant->floats(),
                               units[1].value(id).constant->floats());
  };
  ASSERT_TRUE(MigrateScales(
      units[1], {.awq = GetParam(), .scheme = Scheme::kW4Affine32, .moments = &moments}));
  const std::vector<float> got = testing::LogitsOf(units);
  for (size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i], want[i], 2e-4f) << i;
  for (const std::string_view name :
       {"attn_norm.weight", "q.weight", "k.weight", "v.weight", "v.bias", "o.weight",
        "ffn_norm.weight", "gate.weight", "up.weight", "up.bias", "down.weight"})
    EXPECT_TRUE(changed(name)) << name;
  EXPECT_FALSE(changed("o.bias"));
}

INSTANTIATE_TEST_SUITE_P(Both, MigrateUnit, ::testing::Bool());

TEST(Migrate, LeavesTheHeadAlone) {
  std::vector<Graph> units = testing::SmallDecoder();
  MomentsByValue moments;
  Observe(units, moments);
  const Graph before = units[2];
  ASSERT_TRUE(MigrateScales(units[2], {.moments = &moments}));
  for (const std::string_view name : {"final_norm.weight", "embed.weight"}) {
    const ValueId id = before.Find(name);
    EXPECT_TRUE(std::ranges::equal(before.value(id).constant->floats(),
                                   units[2].value(id).constant->floats()))
        << name;
  }
}

TEST(Migrate, LeavesAloneWhatSomethingElseReads) {
  std::vector<Graph> units = testing::SmallDecoder();
  Graph& layer = units[1];
  layer.MarkOutput(layer.Find("ffn_norm"));
  MomentsByValue moments;
  Observe(units, moments);
  const Graph before = layer;
  ASSERT_TRUE(MigrateScales(layer, {.moments = &moments}));
  const ValueId gate = layer.Find("gate.weight");
  EXPECT_TRUE(std::ranges::equal(before.value(gate).constant->floats(),
                                 layer.value(gate).constant->floats()));
}

}  // namespace
}  // namespace hexlane
