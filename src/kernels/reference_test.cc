// The plain kernels against values worked out by hand or by another formula.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>
#include <vector>

#include "base/encoding.h"
#include "base/thread_pool.h"
#include "kernels/attention/attention.h"
#include "kernels/elementwise/elementwise.h"
#include "kernels/matmul/float.h"
#include "kernels/norm/norm.h"
#include "kernels/rope/rope.h"
#include "kernels/sample/softmax.h"

namespace hexlane {
namespace {
std::vector<float> Random(int64_t n, unsigned seed) {
  std::mt19937 rng(seed);
  std::normal_distribution<float> normal;
  std::vector<float> v(n);
  for (float& x : v) x = normal(rng);
  return v;
}

TEST(RmsNorm, DividesByRootMeanSquare) {
  std::vector<float> x = {3, 4, 0, 0}, w = {1, 2, 1, 1}, y(4);
  RmsNorm({x.data(), 1, 4}, w, 0, {y.data(), 1, 4});
  EXPECT_FLOAT_EQ(y[0], 3 / 2.5f);
  EXPECT_FLOAT_EQ(y[1], 2 * 4 / 2.5f);
}

TEST(RmsNorm, NormalisesEachHeadWhenWeightIsShorter) {
  std::vector<float> x = {3, 4, 30, 40}, w = {1, 1}, y(4);
  RmsNorm({x.data(), 1, 4}, w, 0, {y.data(), 1, 4});
  EXPECT_FLOAT_EQ(y[0], y[2]);
  EXPECT_FLOAT_EQ(y[1], y[3]);
}

TEST(Rope, RotatesHalvesAndKeepsTheRest) {
  const float inv_freq[] = {0.5f};
  std::vector<float> x = {1, 2, 7, 1, 2, 7, 1, 2, 7, 1, 2, 7};  // 2 rows of 2 heads of 3
  Rope({x.data(), 2, 6}, {.head_dim = 3, .inv_freq = inv_freq, .first_position = 3},
       {x.data(), 2, 6});
  for (int row = 0; row < 2; ++row) {
    const float c = std::cos(0.5f * (3 + row)), s = std::sin(0.5f * (3 + row));
    for (int head = 0; head < 2; ++head) {
      const float* y = x.data() + row * 6 + head * 3;
      EXPECT_FLOAT_EQ(y[0], c - 2 * s);
      EXPECT_FLOAT_EQ(y[1], 2 * c + s);
      EXPECT_EQ(y[2], 7);
    }
  }
}

struct Heads {
  std::vector<float> q = Random(5 * 4 * 8, 1), k = Random(5 * 2 * 8, 2), v = Random(5 * 2 * 8, 3);
  AttentionArgs Args(int64_t past) const {
    const int64_t rows = 5 - past;
    return {.q = {q.data() + past * 32, rows, 32},
            .k = {k.data() + past * 16, rows, 16},
            .v = {v.data() + past * 16, rows, 16},
            .past_k = {k.data(), past, 16},
            .past_v = {v.data(), past, 16},
            .heads = 4,
            .kv_heads = 2,
            .head_dim = 8,
            .scale = 0.35f,
            .on_scores = {},
            .on_probabilities = {}};
  }
  std::vector<float> Run(const AttentionArgs& args, ThreadPool* pool = nullptr) const {
    std::vector<float> out(args.q.rows * 32);
    Attention(args, {out.data(), args.q.rows, 32}, pool);
    return out;
  }
};

TEST(Attention, FirstPositionReturnsItsOwnValue) {
  const Heads h;
  const std::vector<float> out = h.Run(h.Args(0));
  for (int head = 0; head < 4; ++head)
    for (int i = 0; i < 8; ++i) EXPECT_FLOAT_EQ(out[head * 8 + i], h.v[head / 2 * 8 + i]);
}

TEST(Attention, SameWithPastAsInOneCall) {
  const Heads h;
  ThreadPool pool(2);
  const std::vector<float> whole = h.Run(h.Args(0), &pool), tail = h.Run(h.Args(3));
  EXPECT_EQ(std::vector<float>(whole.begin() + 3 * 32, whole.end()), tail);
}

TEST(Attention, WindowHidesOldKeys) {
  const Heads h;
  AttentionArgs args = h.Args(0);
  args.window = 2;
  std::vector<size_t> seen;
  args.on_scores = [&](std::span<float> s) { seen.push_back(s.size()); };
  h.Run(args);
  EXPECT_EQ(seen.front(), 1u);
  EXPECT_EQ(seen.back(), 2u);
}

TEST(Attention, HooksMayChangeScoresAndProbabilities) {
  const Heads h;
  AttentionArgs args = h.Args(0);
  args.on_scores = [](std::span<float> s) { std::fill(s.begin(), s.end(), 0.f); };
  args.on_probabilities = [](std::span<float> p) {
    for (float x : p) EXPECT_FLOAT_EQ(x, 1.f / p.size());
    std::fill(p.begin(), p.end(), 0.f);
  };
  for (float x : h.Run(args)) EXPECT_EQ(x, 0);
}

TEST(Attention, SoftcapBoundsScores) {
  const Heads h;
  AttentionArgs args = h.Args(0);
  args.scale = 100;
  args.softcap = 5;
  args.on_scores = [](std::span<float> s) {
    for (float x : s) EXPECT_LE(std::abs(x), 5);
  };
  h.Run(args);
}

TEST(Elementwise, MatchesFormulas) {
  const std::vector<float> a = {-20, -1, 0, 1, 20}, b = {2, 2, 2, 2, 2};
  std::vector<float> y(5);
  SiluMul(a, b, y);
  EXPECT_FLOAT_EQ(y[3], 2 / (1 + std::exp(-1.f)));
  EXPECT_NEAR(y[0], 0, 1e-6);
  Gelu(a, y);
  EXPECT_NEAR(y[3], 0.841192, 1e-6);
  EXPECT_FLOAT_EQ(y[4], 20);
  Add(a, b, y);
  EXPECT_EQ(y[0], -18);
  Mul(a, b, y);
  EXPECT_EQ(y[0], -40);
  Softcap(a, 5, y);
  EXPECT_NEAR(y[4], 5, 0.01);
}

TEST(Softmax, SumsToOneAtLargeValues) {
  std::vector<float> x = {1000, 1001, 999};
  Softmax(x);
  EXPECT_NEAR(std::accumulate(x.begin(), x.end(), 0.0), 1, 1e-6);
  EXPECT_EQ(ArgMax(x), 1);
}

TEST(ArgMax, TakesTheFirstOfEqualsAndIgnoresNan) {
  const std::vector<float> x = {NAN, 1, 3, 3, NAN};
  EXPECT_EQ(ArgMax(x), 2);
}

TEST(NegativeLogLikelihood, EqualsMinusLogSoftmax) {
  std::vector<float> x = {1, 2, 3};
  const double nll = NegativeLogLikelihood(x, 1);
  Softmax(x);
  EXPECT_NEAR(nll, -std::log(x[1]), 1e-6);
}

class MatMulFloatTest : public testing::TestWithParam<DType> {};

TEST_P(MatMulFloatTest, MatchesDotProductsForAnyShape) {
  ThreadPool pool(2);
  const Encoding stored{.dtype = GetParam()};
  for (const auto [rows, n, k] : {std::array{1, 1, 1}, {3, 130, 37}, {17, 300, 64}}) {
    const std::vector<float> x = Random(rows * k, 4), bias = Random(n, 6);
    std::vector<float> w = Random(n * k, 5), y(rows * n);
    std::vector<std::byte> bytes(w.size() * DTypeBytes(stored.dtype));
    EncodeValues(w, stored, bytes);
    DecodeValues(bytes, stored, w);
    MatMulFloat({x.data(), rows, k}, {bytes, Shape{n, k}, stored.dtype}, bias, {y.data(), rows, n},
                &pool);
    for (int r = 0; r < rows; ++r)
      for (int c = 0; c < n; ++c) {
        double sum = bias[c];
        for (int i = 0; i < k; ++i) sum += static_cast<double>(x[r * k + i]) * w[c * k + i];
        ASSERT_NEAR(y[r * n + c], sum, 1e-5 * std::sqrt(k) + 1e-5);
      }
  }
}
INSTANTIATE_TEST_SUITE_P(Stored, MatMulFloatTest, testing::Values(DType::kF32, DType::kF16));

}  // namespace
}  // namespace hexlane
