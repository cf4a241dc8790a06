#include "kernels/pack/pack.h"

#include <gtest/gtest.h>

#include "base/dtype.h"
#include "kernels/pack/random_matrix.h"

namespace hexlane {
namespace {
class Packing : public testing::TestWithParam<Scheme> {};

TEST_P(Packing, UnpackReturnsTheSameMatrix) {
  for (const auto [n, k] : {std::array{1, 1}, {16, 32}, {33, 70}, {48, 96}}) {
    const QuantizedMatrix m = RandomMatrix(GetParam(), n, k, 1);
    const Tensor packed = Pack(m);
    ASSERT_TRUE(CheckPacked(packed.view(), "w"));
    const QuantizedMatrix back = Unpack(packed.view(), 0, n);
    EXPECT_EQ(back.q, m.q);
    EXPECT_EQ(back.scales, m.scales);
    EXPECT_EQ(back.block_scales, m.block_scales);
    EXPECT_EQ(back.mins, m.mins);
  }
}

TEST_P(Packing, UnpackTransposedGivesColumns) {
  for (const auto [n, k] : {std::array{1, 1}, {16, 32}, {33, 70}}) {
    const QuantizedMatrix m = RandomMatrix(GetParam(), n, k, 1);
    const Tensor packed = Pack(m);
    const std::vector<int8_t> columns = UnpackTransposed(packed.view());
    ASSERT_EQ(columns.size(), m.q.size());
    for (int row = 0; row < n; ++row)
      for (int column = 0; column < k; ++column)
        ASSERT_EQ(columns[column * n + row], m.q[row * k + column]) << row << ", " << column;
    const QuantizedMatrix scales = UnpackScales(packed.view());
    EXPECT_TRUE(scales.q.empty());
    EXPECT_EQ(scales.scales, m.scales);
    EXPECT_EQ(scales.block_scales, m.block_scales);
    EXPECT_EQ(scales.mins, m.mins);
  }
}

TEST_P(Packing, DequantizeRowsMatchesThePlainMatrix) {
  const QuantizedMatrix m = RandomMatrix(GetParam(), 35, 70, 2);
  std::vector<float> rows(3 * 70), want(70);
  DequantizeRows(Pack(m).view(), 31, 3, rows.data());
  for (int r = 0; r < 3; ++r) {
    m.DequantizeRow(31 + r, want.data());
    EXPECT_EQ(std::vector<float>(rows.begin() + r * 70, rows.begin() + (r + 1) * 70), want);
  }
}

TEST_P(Packing, CheckRefusesAnyOtherSize) {
  const Tensor packed = Pack(RandomMatrix(GetParam(), 20, 40, 3));
  TensorView view = packed.view();
  view.bytes = view.bytes.first(view.bytes.size() - 64);
  EXPECT_EQ(CheckPacked(view, "w").error().code, Code::kCorrupt);
  view = packed.view();
  view.shape = Shape{20, 65};
  EXPECT_FALSE(CheckPacked(view, "w"));
  for (const Shape& shape : {Shape{0, 40}, Shape{-20, 40}, Shape{20}, Shape{int64_t{1} << 40, 40},
                             Shape{20, int64_t{1} << 60}}) {
    view.shape = shape;
    EXPECT_FALSE(CheckPacked(view, "w"));
  }
}

INSTANTIATE_TEST_SUITE_P(AllSchemes, Packing,
                         testing::ValuesIn(AllSchemes().begin(), AllSchemes().end()),
                         [](const auto& info) {
                           std::string name(Info(info.param).name);
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(Packing, StripsHaveTheDocumentedSizes) {
  EXPECT_EQ(PackedBytes(Scheme::kW4Affine32, 16, 64), 2u * (256 + 64));
  EXPECT_EQ(PackedBytes(Scheme::kW4Lpbq32, 17, 64), 2u * (2 * 256 + 64 + 64));
  EXPECT_EQ(PackedBytes(Scheme::kW8Channel, 16, 33), 2u * 512 + 64);
  EXPECT_EQ(PackedBytes(Scheme::kW8Block32, 16, 32), 512u + 64);
  EXPECT_EQ(PackedBytes(Scheme::kW4Lpbq16, 16, 64), 2u * 256 + 64 + 64);  // 4 blocks of u8[16]
  EXPECT_EQ(PackedBytes(Scheme::kW4Affine64, 16, 160), 5u * 256 + 3 * 64);
  EXPECT_EQ(PackedBytes(Scheme::kW3Channel, 16, 96), 3u * 192 + 64);
}

TEST(Packing, WideBlocksStoreTheirScalesOnce) {
  const auto bits = [](Scheme scheme) {
    return 8.0 * PackedBytes(scheme, 4096, 4096) / (4096 * 4096);
  };
  EXPECT_EQ(bits(Scheme::kW4Affine32), 5);
  EXPECT_EQ(bits(Scheme::kW4Affine128), 4.25);
  EXPECT_EQ(bits(Scheme::kW4Block64), 4.25);
  EXPECT_EQ(bits(Scheme::kW4Block128), 4.125);
  EXPECT_NEAR(bits(Scheme::kW3Lpbq32), 3.25, 0.01);  // and the channel scales
}

// Bits per weight of LLaMA-7B: 32 layers, embedding and head.
double Llama7BBits(Scheme layers, Scheme embedding, Scheme head) {
  double bytes = 0, weights = 0;
  const auto add = [&](Scheme scheme, int64_t n, int64_t k, int times) {
    bytes += times * static_cast<double>(PackedBytes(scheme, n, k));
    weights += times * static_cast<double>(n) * static_cast<double>(k);
  };
  add(layers, 4096, 4096, 4 * 32);
  add(layers, 11008, 4096, 2 * 32);
  add(layers, 4096, 11008, 32);
  add(embedding, 32000, 4096, 1);
  add(head, 32000, 4096, 1);
  return 8 * bytes / weights;
}

TEST(Packing, Llama7BTakesFewBits) {
  using enum Scheme;
  // GGUF: Q4_1 or Q4_K, Q6_K; GPTQ and AWQ with zero points.
  EXPECT_LE(Llama7BBits(kW4Affine32, kW4Affine32, kW8Channel), 5.06);
  EXPECT_LE(Llama7BBits(kW4Affine128, kW4Affine32, kW8Channel), 4.34);
  // GPTQ, symmetric.
  EXPECT_LE(Llama7BBits(kW4Block32, kW4Affine32, kW8Channel), 4.58);
  EXPECT_LE(Llama7BBits(kW4Block128, kW4Affine32, kW8Channel), 4.22);
}

}  // namespace
}  // namespace hexlane
