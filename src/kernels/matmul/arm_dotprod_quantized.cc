// SDOT multiplies 4 bytes of an output row with 4 activations, which one lane of a register of 16
// activations holds.
#include "kernels/matmul/arm_quantized.h"

namespace hexlane {
namespace {

// dot[r][q] += x lane · one vector of each quarter.
template <int kLane, int R>
HEXLANE_INLINE void AddLane(const int8x16_t (&x)[R], const int8x16_t (&w)[kQuarters],
                            int32x4_t (&dot)[R][kQuarters]) {
  for (int r = 0; r < R; ++r)
    for (int q = 0; q < kQuarters; ++q) dot[r][q] = vdotq_laneq_s32(dot[r][q], w[q], x[r], kLane);
}

// Column group kGroup of 8-bit quants; of smaller ones kGroup and kGroup + 4. x[0]: columns 0..15,
// x[1]: 16..31.
template <Scheme S, int kGroup, int R>
HEXLANE_INLINE void AddGroup(const int8x16_t (&x)[2][R], const std::byte* quants, Sums<S, R>& dot) {
  int8x16_t low[kQuarters], high[kQuarters];
  for (int q = 0; q < kQuarters; ++q) LoadQuants<S>(quants + 16 * q, kGroup, low[q], high[q]);
  AddLane<kGroup % 4, R>(x[kGroup / 4], low, dot[0]);
  if constexpr (kFormat<S>.bits != 8) AddLane<kGroup % 4, R>(x[1], high, dot[kParts<S> - 1]);
}

struct DotProducts {
  template <Scheme S, int R>
  HEXLANE_INLINE static void AddPlane(const int8_t* rows, const std::byte* quants,
                                      Sums<S, R>& dot) {
    int8x16_t x[2][R];
    for (int r = 0; r < R; ++r)
      for (int i = 0; i < 2; ++i) x[i][r] = vld1q_s8(rows + r * kTileColumns + 16 * i);
    AddGroup<S, 0, R>(x, quants, dot);
    AddGroup<S, 1, R>(x, quants, dot);
    AddGroup<S, 2, R>(x, quants, dot);
    AddGroup<S, 3, R>(x, quants, dot);
    if constexpr (kFormat<S>.bits == 8) {
      AddGroup<S, 4, R>(x, quants, dot);
      AddGroup<S, 5, R>(x, quants, dot);
      AddGroup<S, 6, R>(x, quants, dot);
      AddGroup<S, 7, R>(x, quants, dot);
    }
  }
};
}  // namespace

#define SCHEME(Name, text, bits, block, kind)                                   \
  void MatMul##Name##Neon(const MatMulCall& call, int64_t first, int64_t end) { \
    MatMul<Scheme::k##Name, DotProducts>(call, first, end);                     \
  }
#include "base/schemes.def"
#undef SCHEME

}  // namespace hexlane
