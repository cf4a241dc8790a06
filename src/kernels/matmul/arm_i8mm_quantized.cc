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
  // [row pair][quarter][output pair]: x0w0 x0w1 x1w0 x1w1
  template <int R>
  using PairSums = int32x4_t[(R + 1) / 2][kQuarters][2];

  template <Scheme S, int R>
  HEXLANE_INLINE static void AddPlane(const int8_t* x, const std::byte* quants, Sums<S, R>& dot) {
    PairSums<R> sums[kParts<S>];
    for (auto& part : sums)
      for (auto& pair : part)
        for (auto& quarter : pair) quarter[0] = quarter[1] = vdupq_n_s32(0);
    for (int i = 0; i < (kFormat<S>.bits == 8 ? 4 : 2); ++i) {
      int8x16_t low[2][kQuarters], high[2][kQuarters];
      for (int g = 0; g < 2; ++g)
        for (int q = 0; q < kQuarters; ++q)
          LoadQuants<S>(quants + 16 * q, 2 * i + g, low[g][q], high[g][q]);
      AddChunk<R>(x + 8 * i, {Pairs(low[0][0], low[1][0]), Pairs(low[0][1], low[1][1])}, sums[0]);
      if constexpr (kFormat<S>.bits != 8)
        AddChunk<R>(x + 8 * (i + 2), {Pairs(high[0][0], high[1][0]), Pairs(high[0][1], high[1][1])},
                    sums[kParts<S> - 1]);
    }
    for (int part = 0; part < kParts<S>; ++part) AddRows<R>(sums[part], dot[part]);
  }

 private:
  // 8 columns, from x on.
  template <int R>
  HEXLANE_INLINE static void AddChunk(const int8_t* x, const Pairs (&w)[kQuarters],
                                      PairSums<R>& sums) {
    for (int p = 0; p < (R + 1) / 2; ++p) {
      const int8_t* first = x + 2 * p * kTileColumns;
      const int8_t* second = 2 * p + 1 < R ? first + kTileColumns : first;
      const int8x16_t rows = vcombine_s8(vld1_s8(first), vld1_s8(second));
      for (int q = 0; q < kQuarters; ++q) {
        sums[p][q][0] = vmmlaq_s32(sums[p][q][0], rows, w[q].rows01);
        sums[p][q][1] = vmmlaq_s32(sums[p][q][1], rows, w[q].rows23);
      }
    }
  }

  template <int R>
  HEXLANE_INLINE static void AddRows(const PairSums<R>& sums, int32x4_t (&dot)[R][kQuarters]) {
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

#define SCHEME(Name, text, bits, block, kind)                                   \
  void MatMul##Name##I8mm(const MatMulCall& call, int64_t first, int64_t end) { \
    MatMul<Scheme::k##Name, MatrixProducts>(call, first, end);                  \
  }
#include "base/schemes.def"
#undef SCHEME

}  // namespace hexlane
