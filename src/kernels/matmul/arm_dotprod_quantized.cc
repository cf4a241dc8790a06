// Four output rows per vector: a strip is four quarters, of which two are done at once. SDOT
// multiplies 4 bytes of an output row with 4 activations, which one lane of a register of 16
// activations holds.
#include <arm_neon.h>

#include "base/scheme.h"
#include "kernels/registry.h"

namespace hexlane {
namespace {
constexpr bool HasNibbles(Scheme s) { return s == Scheme::kW4Affine32 || s == Scheme::kW4Lpbq32; }
constexpr bool HasChannelScales(Scheme s) {
  return s == Scheme::kW8Channel || s == Scheme::kW4Lpbq32;
}
// What is still added to q when it is multiplied; 8-bit quants are made signed first.
constexpr int Offset(Scheme s) { return s == Scheme::kW4Lpbq32 ? 8 : 0; }

constexpr int kQuarters = 2;  // at once
constexpr int kQuarterRows = 4;

uint8x16_t Load(const std::byte* p) { return vld1q_u8(reinterpret_cast<const uint8_t*>(p)); }

float32x4_t LoadHalves(const std::byte* p) {
  return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(reinterpret_cast<const uint16_t*>(p))));
}

template <Scheme S>
float32x4_t BlockScales(const std::byte* scales, int64_t row) {
  if constexpr (S == Scheme::kW4Lpbq32) {
    uint32_t four;
    __builtin_memcpy(&four, scales + row, 4);
    const uint16x8_t wide = vmovl_u8(vreinterpret_u8_u32(vdup_n_u32(four)));
    return vcvtq_f32_u32(vmovl_u16(vget_low_u16(wide)));
  } else {
    return LoadHalves(scales + 2 * row);
  }
}

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
  for (int q = 0; q < kQuarters; ++q) {
    const uint8x16_t v = Load(quants + 64 * kGroup + 16 * q);
    if constexpr (HasNibbles(S)) {
      low[q] = vreinterpretq_s8_u8(vandq_u8(v, vdupq_n_u8(15)));
      high[q] = vreinterpretq_s8_u8(vshrq_n_u8(v, 4));
    } else {
      low[q] = vreinterpretq_s8_u8(veorq_u8(v, vdupq_n_u8(128)));
    }
  }
  AddLane<kGroup % 4, R>(x[kGroup / 4], low, dot);
  if constexpr (HasNibbles(S)) AddLane<kGroup, R>(x[1], high, dot);
}

// dot[r][q] += Σ x · quants over one block, for R rows whose bytes are 32 apart.
template <Scheme S, int R>
inline void AddPlane(const int8_t* rows, const std::byte* quants, int32x4_t (&dot)[R][kQuarters]) {
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

inline void Store(const MatMulCall& call, int64_t row, int64_t column, float32x4_t sum) {
  float values[kQuarterRows];
  vst1q_f32(values, sum);
  float* y = call.y + row * call.y_stride;
  for (int64_t i = 0; i < kQuarterRows && column + i < call.n; ++i) {
    const float value = values[i] + (call.bias ? call.bias[column + i] : 0);
    y[column + i] = call.accumulate ? y[column + i] + value : value;
  }
}

// acc += dot of one block, scaled; `row`: of the first quarter in the strip, `at`: place of the
// block's first row.
template <Scheme S, int R>
inline void AddScaled(const QuantizedRows& x, int64_t at, const std::byte* scales, int64_t row,
                      const int32x4_t (&dot)[R][kQuarters], float32x4_t (&acc)[R][kQuarters]) {
  for (int q = 0; q < kQuarters; ++q) {
    const int64_t first = row + q * kQuarterRows;
    const float32x4_t d = S == Scheme::kW8Channel ? vdupq_n_f32(1) : BlockScales<S>(scales, first);
    const float32x4_t m =
        S == Scheme::kW4Affine32 ? LoadHalves(scales + 2 * (kStripRows + first)) : vdupq_n_f32(0);
    for (int r = 0; r < R; ++r) {
      float32x4_t f = vcvtq_f32_s32(dot[r][q]);
      if (S != Scheme::kW8Channel) f = vmulq_f32(f, d);
      acc[r][q] = vfmaq_n_f32(acc[r][q], f, x.scales[at + r]);
      if (S == Scheme::kW4Affine32) acc[r][q] = vfmaq_n_f32(acc[r][q], m, x.scaled_sums[at + r]);
    }
  }
}

// R rows of one panel × two quarters of a strip.
template <Scheme S, int R>
void Quarters(const MatMulCall& call, int64_t first_row, int64_t column) {
  const StripLayout& layout = call.layout;
  const int64_t row = column % kStripRows;
  const std::byte* base = call.strips + column / kStripRows * layout.strip_bytes;
  const std::byte* quants = base + row * 4;
  const std::byte* scales = base + layout.scales;
  float32x4_t acc[R][kQuarters];
  for (auto& of_row : acc)
    for (float32x4_t& sum : of_row) sum = vdupq_n_f32(0);
  for (int64_t b = 0; b < layout.blocks; ++b) {
    const int64_t at = first_row * layout.blocks + b * R;
    int32x4_t dot[R][kQuarters];
    for (auto& of_row : dot)
      for (int32x4_t& sum : of_row) sum = vdupq_n_s32(0);
    AddPlane<S, R>(call.x.q + at * kTileColumns, quants, dot);
    if (call.x.low) {
      for (auto& of_row : dot)
        for (int32x4_t& sum : of_row) sum = vshlq_n_s32(sum, 8);
      AddPlane<S, R>(call.x.low + at * kTileColumns, quants, dot);
    }
    if constexpr (Offset(S) != 0) {
      for (int r = 0; r < R; ++r)
        for (int32x4_t& sum : dot[r])
          sum = vsubq_s32(sum, vdupq_n_s32(Offset(S) * call.x.sums[at + r]));
    }
    AddScaled<S, R>(call.x, at, scales, row, dot, acc);
    quants += layout.tile_bytes;
    scales += layout.scale_bytes;
  }
  const auto* channel = reinterpret_cast<const float*>(base + layout.channel) + row;
  for (int r = 0; r < R; ++r) {
    for (int q = 0; q < kQuarters; ++q) {
      if (HasChannelScales(S))
        acc[r][q] = vmulq_f32(acc[r][q], vld1q_f32(channel + q * kQuarterRows));
      Store(call, first_row + r, column + q * kQuarterRows, acc[r][q]);
    }
  }
}

template <Scheme S>
void MatMul(const MatMulCall& call, int64_t first, int64_t end) {
  for (int64_t column = first * kStripRows; column < end * kStripRows && column < call.n;
       column += kQuarters * kQuarterRows) {
    for (int64_t row = 0; row < call.x.rows; row += kPanelRows) {
      switch (call.x.rows - row) {
        case 1: Quarters<S, 1>(call, row, column); break;
        case 2: Quarters<S, 2>(call, row, column); break;
        case 3: Quarters<S, 3>(call, row, column); break;
        default: Quarters<S, 4>(call, row, column); break;
      }
    }
  }
}
}  // namespace

void MatMulW8ChannelNeon(const MatMulCall& call, int64_t first, int64_t end) {
  MatMul<Scheme::kW8Channel>(call, first, end);
}
void MatMulW8Block32Neon(const MatMulCall& call, int64_t first, int64_t end) {
  MatMul<Scheme::kW8Block32>(call, first, end);
}
void MatMulW4Lpbq32Neon(const MatMulCall& call, int64_t first, int64_t end) {
  MatMul<Scheme::kW4Lpbq32>(call, first, end);
}
void MatMulW4Affine32Neon(const MatMulCall& call, int64_t first, int64_t end) {
  MatMul<Scheme::kW4Affine32>(call, first, end);
}

}  // namespace hexlane
