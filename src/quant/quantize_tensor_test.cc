#include "quant/quantize_tensor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "base/thread_pool.h"
#include "kernels/pack/pack.h"
#include "quant/weights.h"

namespace hexlane {
namespace {

constexpr int64_t kRows = 333, kColumns = 80;  // neither whole strips nor whole blocks

std::vector<float> Values() {
  std::mt19937 random(7);
  std::normal_distribution<float> normal(0, 0.05f);
  std::vector<float> values(kRows * kColumns);
  for (float& value : values) value = normal(random);
  return values;
}

Tensor Matrix(std::vector<float> values) {
  return Tensor::FromFloats(std::move(values), Shape{kRows, kColumns});
}

TEST(QuantizeTensor, IsTheWholeMatrixQuantisedAndPacked) {
  const std::vector<float> values = Values();
  for (const Scheme scheme : AllSchemes()) {
    const Tensor want = Pack(*QuantizeWeights({values, kRows, kColumns, "w"}, scheme));
    const auto got = QuantizeTensor(Matrix(values).view(), scheme, "w", nullptr);
    ASSERT_TRUE(got);
    EXPECT_TRUE(std::ranges::equal(got->tensor.view().bytes, want.view().bytes));
  }
}

TEST(QuantizeTensor, ThreadsChangeNothing) {
  ThreadPool pool(3);
  for (const Scheme scheme : {Scheme::kPlain, Scheme::kW4Lpbq32, Scheme::kW4Affine32}) {
    const auto alone = QuantizeTensor(Matrix(Values()).view(), scheme, "w", nullptr);
    const auto together = QuantizeTensor(Matrix(Values()).view(), scheme, "w", &pool);
    ASSERT_TRUE(alone && together);
    EXPECT_TRUE(std::ranges::equal(alone->tensor.view().bytes, together->tensor.view().bytes));
    EXPECT_EQ(alone->snr_db, together->snr_db);
  }
}

TEST(QuantizeTensor, NamesTheFirstBadRowWhateverTheThreads) {
  std::vector<float> values = Values();
  for (const int64_t row : {70, 150, 332}) values[row * kColumns + 3] = INFINITY;
  ThreadPool pool(3);
  for (const Scheme scheme : {Scheme::kPlain, Scheme::kW4Lpbq32}) {
    const auto result = QuantizeTensor(Matrix(values).view(), scheme, "w", &pool);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().where, "w: row 70, column 3");
  }
}

}  // namespace
}  // namespace hexlane
