// SMMLA multiplies two activation rows with two output rows, 8 columns at a time: twice the work of
// SDOT. A panel with an odd last row does that row as a pair with itself.
#include "kernels/matmul/arm_quantized.h"

namespace hexlane {
namespace {

// Two column groups of four output rows: rows 0 and 1 of 8 columns, rows 2 and 3.
struct Pairs {
  int8x16_t rows01, rows23;
  Pairs(int8x16_t group, int8x16_t next) {
    const int32x4_t a = vreinterpretq_s32_s8(group), b = vreinterpretq_s32_s8(next);
    rows01 = vreinterpretq_s8_s32(vzip1q_s32(a, b));
    rows23 = vreinterpretq_s8_s32(vzip2q_s32(a, b));
  }
};

struct MatrixProducts {
  template <Scheme S, int R>
  static void AddPlane(const int8_t* x, const std::byte* quants, int32x4_t (&dot)[R][kQuarters]) {
    constexpr int kPairs = (R + 1) / 2;
    // [row pair][quarter][output pair]: x0w0 x0w1 x1w0 x1w1
    int32x4_t sums[kPairs][kQuarters][2];
    for (auto& pair : sums)
      for (auto& quarter : pair) quarter[0] = quarter[1] = vdupq_n_s32(0);
    // Chunk i: columns 8i .. 8i+7.
    const auto chunk = [&](int i, const Pairs(&w)[kQuarters]) {
      for (int p = 0; p < kPairs; ++p) {
        const int8_t* first = x + 2 * p * kTileColumns + 8 * i;
        const int8_t* second = 2 * p + 1 < R ? first + kTileColumns : first;
        const int8x16_t rows = vcombine_s8(vld1_s8(first), vld1_s8(second));
        for (int q = 0; q < kQuarters; ++q) {
          sums[p][q][0] = vmmlaq_s32(sums[p][q][0], rows, w[q].rows01);
          sums[p][q][1] = vmmlaq_s32(sums[p][q][1], rows, w[q].rows23);
        }
      }
    };
    for (int i = 0; i < (HasNibbles(S) ? 2 : 4); ++i) {
      int8x16_t low[2][kQuarters], high[2][kQuarters];
      for (int g = 0; g < 2; ++g)
        for (int q = 0; q < kQuarters; ++q)
          LoadQuants<S>(quants + 64 * (2 * i + g) + 16 * q, low[g][q], high[g][q]);
      chunk(i, {Pairs(low[0][0], low[1][0]), Pairs(low[0][1], low[1][1])});
      if constexpr (HasNibbles(S))
        chunk(i + 2, {Pairs(high[0][0], high[1][0]), Pairs(high[0][1], high[1][1])});
    }
    AddRows<R>(sums, dot);
  }

 private:
  template <int R>
  static void AddRows(const int32x4_t (&sums)[(R + 1) / 2][kQuarters][2],
                      int32x4_t (&dot)[R][kQuarters]) {
    for (int r = 0; r < R; ++r) {
      for (int q = 0; q < kQuarters; ++q) {
        const int64x2_t a = vreinterpretq_s64_s32(sums[r / 2][q][0]);
        const int64x2_t b = vreinterpretq_s64_s32(sums[r / 2][q][1]);
        const int64x2_t row = r % 2 ? vtrn2q_s64(a, b) : vtrn1q_s64(a, b);
        dot[r][q] = vaddq_s32(dot[r][q], vreinterpretq_s32_s64(row));
      }
    }
  }
};
}  // namespace

void MatMulW8ChannelI8mm(const MatMulCall& call, int64_t first, int64_t end) {
  MatMul<Scheme::kW8Channel, MatrixProducts>(call, first, end);
}
void MatMulW8Block32I8mm(const MatMulCall& call, int64_t first, int64_t end) {
  MatMul<Scheme::kW8Block32, MatrixProducts>(call, first, end);
}
void MatMulW4Lpbq32I8mm(const MatMulCall& call, int64_t first, int64_t end) {
  MatMul<Scheme::kW4Lpbq32, MatrixProducts>(call, first, end);
}
void MatMulW4Affine32I8mm(const MatMulCall& call, int64_t first, int64_t end) {
  MatMul<Scheme::kW4Affine32, MatrixProducts>(call, first, end);
}

}  // namespace hexlane
