// The float kernels of every instruction set against the plain ones.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "base/dtype.h"
#include "kernels/attention/attention.h"
#include "kernels/registry.h"
#include "kernels/rope/rope.h"

namespace hexlane {
namespace {
std::vector<float> Random(int64_t n, unsigned seed, float sigma = 1) {
  std::mt19937 rng(seed);
  std::normal_distribution<float> normal(0, sigma);
  std::vector<float> v(n);
  for (float& x : v) x = normal(rng);
  return v;
}
std::vector<float> ThroughF16(std::vector<float> v) {
  for (float& x : v) x = F16ToF32(F32ToF16(x));
  return v;
}

class FloatKernel : public testing::TestWithParam<Cpu> {
 protected:
  void SetUp() override {
    if (!Supports(GetParam())) GTEST_SKIP() << "this processor has no " << CpuName(GetParam());
  }
  // The kernel of exactly this instruction set.
  template <KernelOp op>
  KernelFn<op>* Get() const {
    for (const Kernel& k : AllKernels())
      if (k.op == op && k.cpu == GetParam()) return k.As<op>();
    return nullptr;
  }
};

TEST_P(FloatKernel, RmsNormMatches) {
  for (const auto [rows, dim, heads] : {std::array{1, 576, 1}, {3, 33, 1}, {2, 24, 3}, {1, 1, 1}}) {
    const std::vector<float> x = Random(rows * dim, 1, 3), w = Random(dim / heads, 2);
    std::vector<float> want(x.size()), got(x.size());
    RmsNorm({x.data(), rows, dim}, w, 1e-5f, {want.data(), rows, dim});
    Get<KernelOp::kRmsNorm>()({x.data(), rows, dim}, w, 1e-5f, {got.data(), rows, dim});
    for (size_t i = 0; i < x.size(); ++i)
      ASSERT_NEAR(got[i], want[i], 2e-6f * (1 + std::abs(want[i])));
  }
}

// In double, over all sixteen.
double BlockErrorByDefinition(std::span<const float> block, double scale, double max_level) {
  double sum = 0;
  for (const float w : block) {
    const double q = std::clamp(std::nearbyint(w / scale), -max_level - 1, max_level);
    sum += std::pow(std::abs(w - q * scale), 2.5);
  }
  return sum;
}

TEST_P(FloatKernel, BlockScalesAreTheBest) {
  constexpr int kBlocks = 200;
  for (const auto [columns, max_level] : {std::array{32, 7}, {16, 7}, {64, 7}, {32, 3}}) {
    std::vector<float> w = Random(kBlocks * columns, 5);
    std::fill_n(w.begin() + 3 * columns, columns, 0.0f);
    w[4 * columns + 7] = -20;  // an outlier; the largest of the channel
    for (int i = 0; i < columns; ++i) w[5 * columns + i] *= 0.01f;
    const float channel_scale = 20.0f / static_cast<float>(max_level * kMaxBlockScale);
    std::vector<uint8_t> scales(kBlocks + 1, 99);
    Get<KernelOp::kBlockScales>()(
        {w.data(), kBlocks, columns, max_level, channel_scale, scales.data()});
    EXPECT_EQ(scales[3], 1);
    EXPECT_EQ(scales[kBlocks], 99);
    for (int b = 0; b < kBlocks; ++b) {
      const std::span<const float> block(&w[b * columns], columns);
      double least = INFINITY;
      for (int s = 1; s <= kMaxBlockScale; ++s)
        least = std::min(least, BlockErrorByDefinition(block, s * channel_scale, max_level));
      ASSERT_GE(scales[b], 1);
      ASSERT_LE(scales[b], kMaxBlockScale);
      EXPECT_LE(BlockErrorByDefinition(block, scales[b] * channel_scale, max_level),
                least * 1.0001 + 1e-12)
          << columns << " columns, block " << b << ", scale " << int{scales[b]};
    }
  }
}

TEST_P(FloatKernel, SiluMulMatchesOverTheWholeRange) {
  std::vector<float> gate = Random(1000, 1, 5), up = Random(1000, 2), y(1000);
  gate[0] = -200, gate[1] = 200, gate[2] = 0, gate[3] = -88;
  Get<KernelOp::kSiluMul>()(gate.data(), up.data(), y.data(), 997);
  for (int i = 0; i < 997; ++i) {
    const double want = gate[i] / (1 + std::exp(-static_cast<double>(gate[i]))) * up[i];
    ASSERT_NEAR(y[i], want, 1e-6 * std::abs(want) + 1e-30) << gate[i];
  }
  EXPECT_EQ(y[998], 0);
}

TEST_P(FloatKernel, RotateMatchesRope) {
  for (const auto [head_dim, half] : {std::array{64, 32}, {24, 6}, {16, 8}}) {
    const int64_t rows = 3, dim = 2 * head_dim;
    const std::vector<float> x = Random(rows * dim, 3), inv_freq = Random(half, 4, 0.1f);
    std::vector<float> want(x.size()), got = x, cos, sin;
    Rope({x.data(), rows, dim}, {.head_dim = head_dim, .inv_freq = inv_freq, .first_position = 5},
         {want.data(), rows, dim});
    for (int64_t r = 0; r < rows; ++r) {
      for (float f : inv_freq) {
        cos.push_back(std::cos(static_cast<float>(5 + r) * f));
        sin.push_back(std::sin(static_cast<float>(5 + r) * f));
      }
    }
    Get<KernelOp::kRotate>()({got.data(), rows, dim}, {cos.data(), sin.data(), half, head_dim}, 0,
                             rows);
    for (size_t i = 0; i < x.size(); ++i) ASSERT_NEAR(got[i], want[i], 1e-6);
  }
}

struct AttentionCase {
  int64_t past, rows, heads, kv_heads, head_dim, window;
  float softcap;
};

TEST_P(FloatKernel, AttendMatchesAttention) {
  const AttentionCase cases[] = {
      {0, 1, 1, 1, 16, 0, 0},  {0, 37, 9, 3, 64, 0, 0},   {100, 1, 9, 3, 64, 0, 0},
      {17, 5, 4, 4, 24, 0, 0}, {40, 9, 4, 2, 32, 8, 0},   {3, 20, 2, 1, 128, 5, 0},
      {30, 6, 6, 3, 16, 0, 5}, {5, 3, 3, 3, 8, 16, 2.5f}, {20, 2, 8, 1, 80, 0, 0}};
  for (const AttentionCase& c : cases) {
    const int64_t keys = c.past + c.rows, kv_dim = c.kv_heads * c.head_dim;
    const int64_t q_dim = c.heads * c.head_dim, capacity = (keys + 15) / 16 * 16;
    const std::vector<float> q = Random(c.rows * q_dim, 1),
                             k = ThroughF16(Random(keys * kv_dim, 2));
    const std::vector<float> v = ThroughF16(Random(keys * kv_dim, 3));
    std::vector<float> want(q.size()), got(q.size()), scratch(AttendScratch(keys));
    Attention({.q = {q.data(), c.rows, q_dim},
               .k = {k.data() + c.past * kv_dim, c.rows, kv_dim},
               .v = {v.data() + c.past * kv_dim, c.rows, kv_dim},
               .past_k = {k.data(), c.past, kv_dim},
               .past_v = {v.data(), c.past, kv_dim},
               .heads = c.heads,
               .kv_heads = c.kv_heads,
               .head_dim = c.head_dim,
               .scale = 0.3f,
               .window = c.window,
               .softcap = c.softcap,
               .on_scores = {},
               .on_probabilities = {}},
              {want.data(), c.rows, q_dim});
    KvCacheView cache{nullptr, nullptr, capacity, c.kv_heads, c.head_dim};
    std::vector<uint16_t> key_memory(cache.elements()), value_memory(cache.elements());
    cache.keys = key_memory.data(), cache.values = value_memory.data();
    Get<KernelOp::kStoreKv>()({{k.data(), keys, kv_dim}, {v.data(), keys, kv_dim}, cache, 0}, 0,
                              keys);
    const AttendCall call{{q.data(), c.rows, q_dim},
                          {got.data(), c.rows, q_dim},
                          cache,
                          c.past,
                          c.heads,
                          0.3f,
                          c.window,
                          c.softcap};
    Get<KernelOp::kAttend>()(call, 0, AttendItems(call), scratch.data());
    // The cache holds k and v exactly; what differs is the order of sums and Exp's 3e-7.
    for (size_t i = 0; i < q.size(); ++i)
      ASSERT_NEAR(got[i], want[i], 1e-5) << c.head_dim << " " << i;
  }
}

TEST_P(FloatKernel, PlainMatMulMatchesInEveryDtype) {
  for (const auto [rows, n, k] : {std::array{1, 1, 1}, {1, 7, 100}, {6, 9, 33}, {4, 16, 64}}) {
    for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
      const std::vector<float> x = Random(rows * k, 1), bias = Random(n, 3);
      std::vector<float> w = Random(n * k, 2), y(rows * n, 1.f);
      std::vector<uint16_t> half(w.size());
      const bool f16 = dtype == DType::kF16;
      for (size_t i = 0; i < w.size() && dtype != DType::kF32; ++i) {
        half[i] = f16 ? F32ToF16(w[i]) : F32ToBf16(w[i]);
        w[i] = f16 ? F16ToF32(half[i]) : Bf16ToF32(half[i]);
      }
      const void* data = dtype == DType::kF32 ? static_cast<const void*>(w.data()) : half.data();
      const PlainMatMulCall call{{x.data(), rows, k},
                                 static_cast<const std::byte*>(data),
                                 dtype,
                                 y.data(),
                                 n,
                                 bias.data(),
                                 true};
      Get<KernelOp::kPlainMatMul>()(call, 0, n);
      for (int64_t r = 0; r < rows; ++r) {
        for (int64_t c = 0; c < n; ++c) {
          double want = 1 + bias[c];
          for (int64_t i = 0; i < k; ++i) want += static_cast<double>(x[r * k + i]) * w[c * k + i];
          ASSERT_NEAR(y[r * n + c], want, 1e-6 * (k + 4));
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Cpus, FloatKernel,
                         testing::Values(Cpu::kAny,
#if defined(__x86_64__)
                                         Cpu::kAvx2, Cpu::kAvx512Vnni
#elif defined(__aarch64__)
                                         Cpu::kDotProd
#endif
                                         ),
                         [](const auto& info) { return std::string(CpuName(info.param)); });
}  // namespace
}  // namespace hexlane
