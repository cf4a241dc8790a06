// Every row of kernels.inc that this processor can run, against float64 arithmetic on the
// dequantised weights and on the quantised activations.
#include "kernels/matmul/matmul.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "base/thread_pool.h"
#include "kernels/pack/pack.h"
#include "kernels/pack/random_matrix.h"
#include "kernels/registry.h"

namespace hexlane {
namespace {
std::vector<float> Random(int64_t n, unsigned seed) {
  std::mt19937 rng(seed);
  std::normal_distribution<float> normal;
  std::vector<float> v(n);
  for (float& x : v) x = normal(rng);
  return v;
}

std::vector<Kernel> Runnable(KernelOp op) {
  std::vector<Kernel> kernels;
  for (const Kernel& k : AllKernels())
    if (k.op == op && Supports(k.cpu)) kernels.push_back(k);
  return kernels;
}

struct Problem {
  int64_t rows, n, k;
};
const Problem kProblems[] = {{1, 1, 1},    {1, 16, 32},  {1, 50, 100},  {2, 33, 64},
                             {3, 31, 31},  {4, 64, 576}, {5, 100, 200}, {9, 17, 33},
                             {19, 48, 96}, {8, 15, 1536}};

// What the quantised activations stand for.
std::vector<double> Dequantize(const QuantizedRows& x, int64_t k) {
  std::vector<double> values(x.rows * k);
  for (int64_t row = 0; row < x.rows; ++row) {
    const int64_t first = row / kPanelRows * kPanelRows;
    const int64_t height = std::min(kPanelRows, x.rows - first);
    for (int64_t i = 0; i < k; ++i) {
      const int64_t at = first * x.blocks + i / 32 * height + row - first;
      const int64_t j = at * 32 + i % 32;
      values[row * k + i] = (x.low ? 256.0 * x.q[j] + x.low[j] : x.q[j]) * x.scales[at];
    }
  }
  return values;
}

class MatMulKernel : public testing::TestWithParam<Kernel> {};

TEST_P(MatMulKernel, MatchesFloat64OnTheSameQuantisedValues) {
  ThreadPool pool(1);
  for (const ActivationBits bits : {ActivationBits::k8, ActivationBits::k16})
    for (const auto [rows, n, k] : kProblems) {
      const QuantizedMatrix w = RandomMatrix(GetParam().format, n, k, static_cast<unsigned>(n + k));
      const Tensor packed = Pack(w);
      const std::vector<float> x = Random(rows * k, 1), bias = Random(n, 2);
      std::vector<float> y = Random(rows * n, 3);
      const std::vector<float> before = y;
      QuantizedRowsBuffer buffer(rows, k, bits);
      const QuantizedRows q = buffer.Quantize({x.data(), rows, k}, pool);
      const MatMulCall call{
          q, packed.view().bytes.data(), LayoutOf(w.scheme, k), n, y.data(), n, bias.data(), true};
      GetParam().As<KernelOp::kMatMul>()(call, 0, (n + 15) / 16);
      const std::vector<double> real = Dequantize(q, k);
      std::vector<float> wrow(k);
      for (int64_t c = 0; c < n; ++c) {
        w.DequantizeRow(c, wrow.data());
        for (int64_t r = 0; r < rows; ++r) {
          double sum = bias[c] + before[r * n + c], magnitude = std::abs(sum);
          for (int64_t i = 0; i < k; ++i) {
            sum += real[r * k + i] * wrow[i];
            magnitude += std::abs(real[r * k + i] * wrow[i]);
          }
          // Integer dots are exact; a few float32 roundings per block, each relative to terms that
          // the unsigned form makes up to 16 times larger (q·d + m with m ≈ -8d).
          const double tolerance = 16 * 1.2e-7 * (q.blocks + 4) * (magnitude + 1e-3);
          ASSERT_NEAR(y[r * n + c], sum, tolerance)
              << rows << "x" << n << "x" << k << " at " << r << "," << c;
        }
      }
    }
}

INSTANTIATE_TEST_SUITE_P(Kernels, MatMulKernel, testing::ValuesIn(Runnable(KernelOp::kMatMul)),
                         [](const auto& info) { return std::string(info.param.name); });

class QuantizeRowsKernel : public testing::TestWithParam<Kernel> {};

TEST_P(QuantizeRowsKernel, KeepsValuesWithinHalfAStepAndSumsRight) {
  for (const ActivationBits bits : {ActivationBits::k8, ActivationBits::k16})
    for (const auto [rows, n, k] : kProblems) {
      std::vector<float> x = Random(rows * k, 7);
      std::fill(x.begin(), x.begin() + std::min<int64_t>(k, 32), 0.f);  // a block of zeros
      QuantizedRowsBuffer buffer(rows, k, bits);
      const QuantizedRows q = buffer.View(rows, k);
      GetParam().As<KernelOp::kQuantizeRows>()({x.data(), rows, k}, q, 0, Panels(rows));
      const std::vector<double> real = Dequantize(q, k);
      for (int64_t row = 0; row < rows; ++row) {
        const int64_t first = row / 4 * 4, height = std::min<int64_t>(4, rows - first);
        for (int64_t b = 0; b < q.blocks; ++b) {
          const int64_t at = first * q.blocks + b * height + row - first;
          int32_t sum = 0;
          for (int64_t i = at * 32; i < at * 32 + 32; ++i)
            sum += q.low ? 256 * q.q[i] + q.low[i] : q.q[i];
          EXPECT_EQ(q.sums[at], sum);
          EXPECT_FLOAT_EQ(q.scaled_sums[at], q.scales[at] * sum);
          for (int64_t i = b * 32; i < std::min(k, b * 32 + 32); ++i)
            ASSERT_NEAR(real[row * k + i], x[row * k + i],
                        q.scales[at] * (q.low ? 1.51 : 0.5001));  // 16 bits: 128 may become 127
        }
      }
    }
}

TEST_P(QuantizeRowsKernel, SurvivesInfinityAndNan) {
  std::vector<float> x(64, 1.f);
  x[3] = INFINITY, x[40] = NAN;
  QuantizedRowsBuffer buffer(1, 64, ActivationBits::k16);
  GetParam().As<KernelOp::kQuantizeRows>()({x.data(), 1, 64}, buffer.View(1, 64), 0, 1);
}

INSTANTIATE_TEST_SUITE_P(Kernels, QuantizeRowsKernel,
                         testing::ValuesIn(Runnable(KernelOp::kQuantizeRows)),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(MatMul, TasksOfAnyFormatShareOneLoop) {
  const QuantizedMatrix m = RandomMatrix(Scheme::kW4Affine32, 200, 96, 1);
  const Tensor packed = Pack(m);
  const Tensor plain = Tensor::FromFloats(Random(50 * 96, 3), {50, 96});
  const std::vector<float> x = Random(7 * 96, 1), bias = Random(50, 2);
  std::vector<float> results[2][2];
  for (int threads : {1, 3}) {
    ThreadPool pool(threads);
    QuantizedRowsBuffer buffer(7, 96, ActivationBits::k8);
    auto& [y, z] = results[threads / 3];
    y.resize(7 * 200), z.resize(7 * 50);
    const MatMulTask tasks[] = {{.weights = packed.view(), .bias = {}, .y = {y.data(), 7, 200}},
                                {.weights = plain.view(), .bias = bias, .y = {z.data(), 7, 50}}};
    MatMul({x.data(), 7, 96}, tasks, buffer, pool);
  }
  EXPECT_EQ(results[0][0], results[1][0]);
  EXPECT_EQ(results[0][1], results[1][1]);
  std::vector<float> w(96);
  m.DequantizeRow(199, w.data());
  double want = 0, norm = 0;
  for (int i = 0; i < 96; ++i) want += x[i] * w[i], norm += std::abs(x[i] * w[i]);
  EXPECT_NEAR(results[0][0][199], want, norm / 64);  // half a step of 127 in every activation
  want = bias[49];
  for (int i = 0; i < 96; ++i) want += x[6 * 96 + i] * plain.floats()[49 * 96 + i];
  EXPECT_NEAR(results[0][1][6 * 50 + 49], want, 1e-4);
}

TEST(MatMul, CheckRefusesMisshapenWeights) {
  const Tensor plain = Tensor::FromFloats(Random(50 * 96, 3), {50, 96});
  EXPECT_TRUE(CheckMatMulWeights(plain.view(), "w"));
  TensorView view = plain.view();
  view.shape = Shape{51, 96};
  EXPECT_EQ(CheckMatMulWeights(view, "w").error().code, Code::kCorrupt);
  view.shape = Shape{50 * 96};
  EXPECT_FALSE(CheckMatMulWeights(view, "w"));
  view.shape = Shape{int64_t{1} << 62, 96};
  EXPECT_FALSE(CheckMatMulWeights(view, "w"));
  view = plain.view();
  view.dtype = DType::kI32;
  EXPECT_EQ(CheckMatMulWeights(view, "w").error().code, Code::kUnsupported);
  view = plain.view();
  view.bytes = view.bytes.subspan(1, view.bytes.size() - 4);
  EXPECT_FALSE(CheckMatMulWeights(view, "w"));
}
}  // namespace
}  // namespace hexlane
