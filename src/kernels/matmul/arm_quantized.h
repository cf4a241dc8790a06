// The quantised product for AArch64 around the integer dot products, which differ between
// instruction sets: four output rows per vector; a strip is four quarters, of which two are done at
// once.
//
// Dots::AddPlane<S, R>(x, quants, dot): dot[r][q] += Σ x · quants over one block, for R rows whose
// bytes are 32 apart; quants: the tile, from the first quarter's first row on.
#ifndef HEXLANE_KERNELS_MATMUL_ARM_QUANTIZED_H_
#define HEXLANE_KERNELS_MATMUL_ARM_QUANTIZED_H_

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

inline uint8x16_t Load(const std::byte* p) { return vld1q_u8(reinterpret_cast<const uint8_t*>(p)); }

inline float32x4_t LoadHalves(const std::byte* p) {
  return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(reinterpret_cast<const uint16_t*>(p))));
}

// One vector of quants as signed bytes: 8-bit ones; of 4-bit ones `low` and `high` nibbles.
template <Scheme S>
inline void LoadQuants(const std::byte* p, int8x16_t& low, int8x16_t& high) {
  const uint8x16_t v = Load(p);
  if constexpr (HasNibbles(S)) {
    low = vreinterpretq_s8_u8(vandq_u8(v, vdupq_n_u8(15)));
    high = vreinterpretq_s8_u8(vshrq_n_u8(v, 4));
  } else {
    low = vreinterpretq_s8_u8(veorq_u8(v, vdupq_n_u8(128)));
  }
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
template <Scheme S, int R, typename Dots>
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
    Dots::template AddPlane<S, R>(call.x.q + at * kTileColumns, quants, dot);
    if (call.x.low) {
      for (auto& of_row : dot)
        for (int32x4_t& sum : of_row) sum = vshlq_n_s32(sum, 8);
      Dots::template AddPlane<S, R>(call.x.low + at * kTileColumns, quants, dot);
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

template <Scheme S, typename Dots>
void MatMul(const MatMulCall& call, int64_t first, int64_t end) {
  for (int64_t column = first * kStripRows; column < end * kStripRows && column < call.n;
       column += kQuarters * kQuarterRows) {
    for (int64_t row = 0; row < call.x.rows; row += kPanelRows) {
      switch (call.x.rows - row) {
        case 1: Quarters<S, 1, Dots>(call, row, column); break;
        case 2: Quarters<S, 2, Dots>(call, row, column); break;
        case 3: Quarters<S, 3, Dots>(call, row, column); break;
        default: Quarters<S, 4, Dots>(call, row, column); break;
      }
    }
  }
}
}  // namespace
}  // namespace hexlane

#endif  // HEXLANE_KERNELS_MATMUL_ARM_QUANTIZED_H_
