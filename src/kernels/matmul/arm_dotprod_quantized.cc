// SDOT multiplies 4 bytes of an output row with 4 activations, which one lane of a register of 16
// activations holds.
#include "kernels/matmul/arm_quantized.h"

namespace hexlane {
namespace {

// dot[r][q] += x lane · one vector of each quarter.
template <int kLane, int R>
inline void AddLane(const int8x16_t (&x)[R], const int8x16_t (&w)[kQuarters],
                    int32x4_t (&dot)[R][kQuarters]) {
  for (int r = 0; r < R; ++r)
    for (int q = 0; q < kQuarters; ++q) dot[r][q] = vdotq_laneq_s32(dot[r][q], w[q], x[r], kLane);
}

// Column group kGroup of 8-bit quants; of 4-bit ones kGroup and kGroup + 4. x[0]: columns 0..15,
// x[1]: 16..31.
template <Scheme S, int kGroup, int R>
inline void AddGroup(const int8x16_t (&x)[2][R], const std::byte* quants,
                     int32x4_t (&dot)[R][kQuarters]) {
  int8x16_t low[kQuarters], high[kQuarters];
  for (int q = 0; q < kQuarters; ++q) LoadQuants<S>(quants + 64 * kGroup + 16 * q, low[q], high[q]);
  AddLane<kGroup % 4, R>(x[kGroup / 4], low, dot);
  if constexpr (HasNibbles(S)) AddLane<kGroup % 4, R>(x[1], high, dot);
}

struct DotProducts {
  template <Scheme S, int R>
  static void AddPlane(const int8_t* rows, const std::byte* quants,
                       int32x4_t (&dot)[R][kQuarters]) {
    int8x16_t x[2][R];
    for (int r = 0; r < R; ++r)
      for (int i = 0; i < 2; ++i) x[i][r] = vld1q_s8(rows + r * kTileColumns + 16 * i);
    AddGroup<S, 0, R>(x, quants, dot);
    AddGroup<S, 1, R>(x, quants, dot);
    AddGroup<S, 2, R>(x, quants, dot);
    AddGroup<S, 3, R>(x, quants, dot);
    if constexpr (!HasNibbles(S)) {
      AddGroup<S, 4, R>(x, quants, dot);
      AddGroup<S, 5, R>(x, quants, dot);
      AddGroup<S, 6, R>(x, quants, dot);
      AddGroup<S, 7, R>(x, quants, dot);
    }
  }
};
}  // namespace

void MatMulW8ChannelNeon(const MatMulCall& call, int64_t first, int64_t end) {
  MatMul<Scheme::kW8Channel, DotProducts>(call, first, end);
}
void MatMulW8Block32Neon(const MatMulCall& call, int64_t first, int64_t end) {
  MatMul<Scheme::kW8Block32, DotProducts>(call, first, end);
}
void MatMulW4Lpbq32Neon(const MatMulCall& call, int64_t first, int64_t end) {
  MatMul<Scheme::kW4Lpbq32, DotProducts>(call, first, end);
}
void MatMulW4Affine32Neon(const MatMulCall& call, int64_t first, int64_t end) {
  MatMul<Scheme::kW4Affine32, DotProducts>(call, first, end);
}

}  // namespace hexlane
