#include "quant/algorithm/rotate.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "quant/algorithm/small_decoder.h"

namespace hexlane {
namespace {

// Row i is what the i-th unit vector becomes.
std::vector<std::vector<float>> MatrixOf(const Rotation& rotation) {
  std::vector<std::vector<float>> rows;
  for (int64_t i = 0; i < rotation.dim(); ++i) {
    rows.emplace_back(static_cast<size_t>(rotation.dim()))[i] = 1;
    rotation.Apply(rows.back());
  }
  return rows;
}

double Dot(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += static_cast<double>(a[i]) * b[i];
  return sum;
}

TEST(Rotation, IsOrthonormal) {
  for (const int64_t dim : {1, 5, 16, 48, 576}) {
    const auto rows = MatrixOf(Rotation(dim));
    for (size_t i = 0; i < rows.size(); i += 7)
      for (size_t j = 0; j < rows.size(); ++j)
        EXPECT_NEAR(Dot(rows[i], rows[j]), i == j, 1e-5) << dim << ": " << i << ", " << j;
  }
}

// Sylvester's definition: entry (i, j) is (-1)^(bits that i and j share), times the row's sign.
TEST(Rotation, OfAPowerOfTwoIsTheHadamardMatrixWithSigns) {
  const auto rows = MatrixOf(Rotation(64));
  for (unsigned i = 0; i < 64; ++i) {
    const float sign = rows[i][0] > 0 ? 1 : -1;
    for (unsigned j = 0; j < 64; ++j) {
      const float want = (std::popcount(i & j) % 2 ? -sign : sign) / 8;
      EXPECT_NEAR(rows[i][j], want, 1e-6f);
    }
  }
}

TEST(Rotation, SpreadsOneLargeChannelOverAll) {
  std::vector<float> x(576);
  x[100] = 24;
  Rotation(576).Apply(x);
  for (const float value : x) EXPECT_LT(std::abs(value), 24 * 0.125f);  // O's entries are up to 1
}

TEST(RotateUnit, LeavesTheLogitsAsTheyWere) {
  std::vector<Graph> units = testing::SmallDecoder();
  const std::vector<float> want = testing::LogitsOf(units);
  for (Graph& unit : units) ASSERT_TRUE(RotateUnit(unit, nullptr));
  const std::vector<float> got = testing::LogitsOf(units);
  for (size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-3f) << i;
}

TEST(RotateUnit, FoldsNormsAndUntiesTheHead) {
  std::vector<Graph> units = testing::SmallDecoder();
  for (Graph& unit : units) ASSERT_TRUE(RotateUnit(unit, nullptr));
  for (const float weight : units[1].value(units[1].Find("attn_norm.weight")).constant->floats())
    EXPECT_EQ(weight, 1);
  EXPECT_EQ(units[2].Find("embed.weight"), kNone);
  EXPECT_NE(units[2].Find("lm_head.weight"), kNone);
}

TEST(RotateUnit, ChangesHiddenStatesAndValues) {
  std::vector<Graph> units = testing::SmallDecoder();
  const Graph before = units[1];
  ASSERT_TRUE(RotateUnit(units[1], nullptr));
  for (const std::string_view name : {"q.weight", "v.weight", "v.bias", "o.weight", "o.bias",
                                      "gate.weight", "up.weight", "down.weight"}) {
    const ValueId id = before.Find(name);
    EXPECT_FALSE(std::ranges::equal(before.value(id).constant->floats(),
                                    units[1].value(id).constant->floats()))
        << name;
  }
}

// As Gemma 2's norms behind the sublayers: their weights stand between matrix and hidden state.
TEST(RotateUnit, NamesWhatItCannotFold) {
  Result<Graph> unit =
      Parse(R"(graph layers.0
input embed.out f32[rows, 32]
const norm.weight f32[32]
const o.weight f32[32, 32]
x f32[rows, 32] = RmsNorm(embed.out, norm.weight) eps=1e-05
o f32[rows, 32] = Linear(x, o.weight)
post_norm f32[rows, 32] = RmsNorm(o, norm.weight) eps=1e-05
out f32[rows, 32] = Add(embed.out, post_norm)
output out
)",
            "test", [](std::string_view name) {
              return testing::SmallWeight(name, name == "o.weight" ? Shape{32, 32} : Shape{32});
            });
  ASSERT_TRUE(unit) << unit.error().ToString();
  const Result<void> rotated = RotateUnit(*unit, nullptr);
  ASSERT_FALSE(rotated);
  EXPECT_EQ(rotated.error().code, Code::kUnsupported);
  EXPECT_EQ(rotated.error().where, "out");
  EXPECT_EQ(rotated.error().got, "post_norm");
}

}  // namespace
}  // namespace hexlane
