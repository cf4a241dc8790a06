#include "base/scheme.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/quantized_matrix.h"

namespace hexlane {
namespace {

TEST(Scheme, NamesAgreeWithTheTable) {
  EXPECT_EQ(SchemeFromName("plain"), Scheme::kPlain);
#define SCHEME(Name, text, bits_, block_, kind)     \
  EXPECT_EQ(SchemeFromName(text), Scheme::k##Name); \
  EXPECT_EQ(Info(Scheme::k##Name).name, text);      \
  EXPECT_EQ(Info(Scheme::k##Name).bits, bits_);     \
  EXPECT_EQ(Info(Scheme::k##Name).block, block_);   \
  EXPECT_EQ(Info(Scheme::k##Name).scale, ScaleKind::kind);
#include "base/schemes.def"
#undef SCHEME
  EXPECT_EQ(SchemeFromName("w5"), std::nullopt);
}

std::vector<float> Row(const QuantizedMatrix& matrix, int64_t row) {
  std::vector<float> out(matrix.k);
  matrix.DequantizeRow(row, out.data());
  return out;
}

TEST(QuantizedMatrix, PerChannelScale) {
  const QuantizedMatrix m{Scheme::kW8Channel, 2, 3, {1, -2, 127, 4, 5, -128}, {0.5f, 2.0f}, {}, {}};
  EXPECT_EQ(m.blocks(), 1);
  EXPECT_EQ(Row(m, 0), (std::vector<float>{0.5f, -1.0f, 63.5f}));
  EXPECT_EQ(Row(m, 1), (std::vector<float>{8.0f, 10.0f, -256.0f}));
}

// k = 33: the second block has a single column.
QuantizedMatrix TwoBlocks(Scheme scheme) {
  return {scheme, 1, 33, std::vector<int8_t>(33, 3), {}, {}, {}};
}

TEST(QuantizedMatrix, BlocksWithAnIntegerScale) {
  QuantizedMatrix m = TwoBlocks(Scheme::kW4Lpbq32);
  m.scales = {0.25f};
  m.block_scales = {1, 16};
  EXPECT_EQ(m.blocks(), 2);
  EXPECT_EQ(Row(m, 0)[31], 0.75f);
  EXPECT_EQ(Row(m, 0)[32], 12.0f);
}

TEST(QuantizedMatrix, BlocksWithAMinimum) {
  QuantizedMatrix m = TwoBlocks(Scheme::kW4Affine32);
  m.scales = {2.0f, 1.0f};
  m.mins = {-8.0f, 0.5f};
  EXPECT_EQ(Row(m, 0)[0], -2.0f);
  EXPECT_EQ(Row(m, 0)[32], 3.5f);
}

TEST(Schemes, NarrowerBlocksAreTheWidestThatDivide) {
  EXPECT_EQ(WithBlocksThatDivide(Scheme::kW4Affine128, 11008), Scheme::kW4Affine128);
  EXPECT_EQ(WithBlocksThatDivide(Scheme::kW4Affine128, 576), Scheme::kW4Affine64);
  EXPECT_EQ(WithBlocksThatDivide(Scheme::kW4Lpbq64, 48), Scheme::kW4Lpbq16);
  EXPECT_EQ(WithBlocksThatDivide(Scheme::kW4Lpbq64, 70), Scheme::kW4Lpbq64);  // none divides
  EXPECT_EQ(WithBlocksThatDivide(Scheme::kW3Channel, 70), Scheme::kW3Channel);
}

}  // namespace
}  // namespace hexlane
