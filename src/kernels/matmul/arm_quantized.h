// The quantised product for AArch64 around the integer dot products, which differ between
// instruction sets: four output rows per vector; a strip is four quarters, of which two are done at
// once.
//
// Dots::AddPlane<S, R>(x, quants, dot): dot[part][r][q] += Σ x · quants over one tile, for R rows
// whose bytes are 32 apart; quants: the tile, from the first quarter's first row on.
#ifndef HEXLANE_KERNELS_MATMUL_ARM_QUANTIZED_H_
#define HEXLANE_KERNELS_MATMUL_ARM_QUANTIZED_H_

#include <arm_neon.h>

#include "kernels/registry.h"

namespace hexlane {
namespace {
template <Scheme S>
constexpr PackedFormat kFormat = FormatOf(S);
// Blocks in one tile, whose sums are apart: 2 where the first is column groups 0 … 3.
template <Scheme S>
constexpr int kParts = kFormat<S>.blocks_per_tile;
// What is still added to q when it is multiplied. 8-bit quants are made signed first, and those of
// two parts, for there is no Σ X of a part.
template <Scheme S>
constexpr int kOffset = kFormat<S>.bits == 8 || kParts<S> == 2 ? 0 : kFormat<S>.offset;

constexpr int kQuarters = 2;  // at once
constexpr int kQuarterRows = 4;

inline uint8x16_t Load(const std::byte* p) { return vld1q_u8(reinterpret_cast<const uint8_t*>(p)); }

inline float32x4_t LoadHalves(const std::byte* p) {
  return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(reinterpret_cast<const uint16_t*>(p))));
}

// Column groups j and j + 4 of a quarter's rows as stored, of quants of fewer than 8 bits.
template <Scheme S>
HEXLANE_INLINE void LoadStored(const std::byte* p, int j, uint8x16_t& low, uint8x16_t& high) {
  if constexpr (kFormat<S>.bits == 4) {
    const uint8x16_t v = Load(p + 64 * j);
    low = vandq_u8(v, vdupq_n_u8(15));
    high = vshrq_n_u8(v, 4);
  } else {
    const auto quant = [&](const std::byte* pairs, int bit) {
      const uint8x16_t pair = vshlq_u8(Load(pairs), vdupq_n_s8(static_cast<int8_t>(-2 * j)));
      const uint8x16_t top = vshlq_u8(Load(p + 128), vdupq_n_s8(static_cast<int8_t>(2 - bit)));
      return vorrq_u8(vandq_u8(pair, vdupq_n_u8(3)), vandq_u8(top, vdupq_n_u8(4)));
    };
    low = quant(p, j);
    high = quant(p + 64, j + 4);
  }
}

// Column group j of a quarter's rows as signed bytes; of quants of fewer than 8 bits j and j + 4.
template <Scheme S>
HEXLANE_INLINE void LoadQuants(const std::byte* p, int j, int8x16_t& low, int8x16_t& high) {
  if constexpr (kFormat<S>.bits == 8) {
    low = vreinterpretq_s8_u8(veorq_u8(Load(p + 64 * j), vdupq_n_u8(128)));
  } else {
    constexpr auto kTaken = static_cast<int8_t>(kFormat<S>.offset - kOffset<S>);
    uint8x16_t l, h;
    LoadStored<S>(p, j, l, h);
    low = vreinterpretq_s8_u8(l);
    high = vreinterpretq_s8_u8(h);
    if constexpr (kTaken != 0) low = vsubq_s8(low, vdupq_n_s8(kTaken));
    if constexpr (kTaken != 0) high = vsubq_s8(high, vdupq_n_s8(kTaken));
  }
}

template <Scheme S>
float32x4_t BlockScales(const std::byte* scales, int64_t row) {
  if constexpr (kFormat<S>.scale == ScaleKind::kInteger) {
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

template <Scheme S, int R>
using Sums = int32x4_t[kParts<S>][R][kQuarters];

// dot = Σ X · q of one tile; `at`: place of the panel's first row.
template <Scheme S, int R, typename Dots>
HEXLANE_INLINE void TileDots(const QuantizedRows& x, int64_t at, const std::byte* quants,
                             Sums<S, R>& dot) {
  for (auto& part : dot)
    for (auto& of_row : part)
      for (int32x4_t& sum : of_row) sum = vdupq_n_s32(0);
  Dots::template AddPlane<S, R>(x.q + at * kTileColumns, quants, dot);
  if (x.low) {
    for (auto& part : dot)
      for (auto& of_row : part)
        for (int32x4_t& sum : of_row) sum = vshlq_n_s32(sum, 8);
    Dots::template AddPlane<S, R>(x.low + at * kTileColumns, quants, dot);
  }
  if constexpr (kOffset<S> != 0) {
    for (int r = 0; r < R; ++r)
      for (int32x4_t& sum : dot[0][r])
        sum = vsubq_s32(sum, vdupq_n_s32(kOffset<S> * x.sums[at + r]));
  }
}

// acc += dot of one tile, scaled; `row`: of the first quarter in the strip, `at`: place of the
// panel's first row.
template <Scheme S, int R>
HEXLANE_INLINE void AddScaled(const QuantizedRows& x, int64_t at, const std::byte* scales,
                              int64_t row, const Sums<S, R>& dot,
                              float32x4_t (&acc)[R][kQuarters]) {
  constexpr bool kScaled = kFormat<S>.scale_bytes != 0;
  constexpr bool kAffine = kFormat<S>.scale == ScaleKind::kAffine;
  for (int q = 0; q < kQuarters; ++q) {
    const int64_t first = row + q * kQuarterRows;
    const float32x4_t m = kAffine ? LoadHalves(scales + 2 * (kStripRows + first)) : vdupq_n_f32(0);
    for (int part = 0; part < kParts<S>; ++part) {
      const std::byte* s = scales + part * kFormat<S>.scale_bytes;
      const float32x4_t d = kScaled ? BlockScales<S>(s, first) : vdupq_n_f32(1);
      for (int r = 0; r < R; ++r) {
        float32x4_t f = vcvtq_f32_s32(dot[part][r][q]);
        if (kScaled) f = vmulq_f32(f, d);
        acc[r][q] = vfmaq_n_f32(acc[r][q], f, x.scales[at + r]);
        if (kAffine) acc[r][q] = vfmaq_n_f32(acc[r][q], m, x.scaled_sums[at + r]);
      }
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
  for (int64_t tile = 0; tile < layout.tiles; ++tile) {
    const int64_t at = first_row * layout.tiles + tile * R;
    Sums<S, R> dot;
    TileDots<S, R, Dots>(call.x, at, quants, dot);
    AddScaled<S, R>(call.x, at, scales, row, dot, acc);
    quants += kFormat<S>.tile_bytes;
    if ((tile + 1) % kFormat<S>.tiles_per_block == 0) scales += kFormat<S>.scale_bytes * kParts<S>;
  }
  const auto* channel = reinterpret_cast<const float*>(base + layout.channel) + row;
  for (int r = 0; r < R; ++r) {
    for (int q = 0; q < kQuarters; ++q) {
      if (kFormat<S>.channel_scales)
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
