// One vector register is one output row per lane (pack.h), one broadcast is 4 columns of one
// activation row.
#include <immintrin.h>

#include "kernels/matmul/x86_prefetch.h"
#include "kernels/registry.h"

namespace hexlane {
namespace {
template <Scheme S>
constexpr PackedFormat kFormat = FormatOf(S);
// What was added to q to make it unsigned; its product with the activations is taken off again by
// starting the integer sum at -offset · Σq.
template <Scheme S>
constexpr int kOffset = kFormat<S>.offset;
// Blocks in one tile, whose sums are apart: 2 where the first is column groups 0 … 3.
template <Scheme S>
constexpr int kParts = kFormat<S>.blocks_per_tile;

__m512 LoadHalves(const std::byte* p) {
  return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
}

template <Scheme S>
__m512 BlockScales(const std::byte* p) {
  if constexpr (kFormat<S>.scale == ScaleKind::kInteger)
    return _mm512_cvtepi32_ps(
        _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))));
  else
    return LoadHalves(p);
}

// One panel of activations, advancing block by block.
template <int R>
struct Panel {
  const int8_t* q[2];  // the high bytes, and the low ones of 16 bits
  const float* scales;
  const float* scaled_sums;
  const int32_t* sums;

  Panel(const QuantizedRows& x, int64_t first_row)
      : q{x.q + first_row * x.blocks * kTileColumns,
          (x.low ? x.low : x.q) + first_row * x.blocks * kTileColumns},
        scales(x.scales + first_row * x.blocks),
        scaled_sums(x.scaled_sums + first_row * x.blocks),
        sums(x.sums + first_row * x.blocks) {}
  void Next() {
    q[0] += R * kTileColumns, q[1] += R * kTileColumns;
    scales += R, scaled_sums += R, sums += R;
  }
  __m512i Columns(int plane, int r, int group) const {
    int32_t four;
    __builtin_memcpy(&four, q[plane] + r * kTileColumns + 4 * group, 4);
    return _mm512_set1_epi32(four);
  }
};

// Column group j of 8-bit quants; of smaller ones j and j + 4.
template <Scheme S>
HEXLANE_INLINE void LoadQuants(const std::byte* tile, int j, __m512i& low, __m512i& high) {
  if constexpr (kFormat<S>.bits == 8) {
    low = _mm512_loadu_si512(tile + 64 * j);
  } else if constexpr (kFormat<S>.bits == 4) {
    const __m512i mask = _mm512_set1_epi8(15), both = _mm512_loadu_si512(tile + 64 * j);
    high = _mm512_and_si512(_mm512_srli_epi16(both, 4), mask);
    low = _mm512_and_si512(both, mask);
  } else {
    const __m512i two = _mm512_set1_epi8(3), four = _mm512_set1_epi8(4);
    const __m512i tops = _mm512_loadu_si512(tile + 128);
    const auto quant = [&](const std::byte* pairs, __m512i top) {
      const __m512i pair = _mm512_srli_epi16(_mm512_loadu_si512(pairs), 2 * j);
      return _mm512_or_si512(_mm512_and_si512(pair, two), _mm512_and_si512(top, four));
    };
    low = quant(tile, j < 2 ? _mm512_slli_epi16(tops, 2 - j) : _mm512_srli_epi16(tops, j - 2));
    high = quant(tile + 64, _mm512_srli_epi16(tops, j + 2));
  }
}

// dot[part][r][t] += one plane of the activations times the tile's quants.
template <Scheme S, int R, int T>
HEXLANE_INLINE void AddPlane(const Panel<R>& x, int plane, const std::byte* quants,
                             int64_t strip_bytes, __m512i (&dot)[kParts<S>][R][T]) {
  constexpr bool kBytes = kFormat<S>.bits == 8;
#pragma GCC unroll 8
  for (int j = 0; j < (kBytes ? 8 : 4); ++j) {
    __m512i w[T], high[T];
#pragma GCC unroll 8
    for (int t = 0; t < T; ++t) LoadQuants<S>(quants + t * strip_bytes, j, w[t], high[t]);
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
      const __m512i a = x.Columns(plane, r, j);
#pragma GCC unroll 8
      for (int t = 0; t < T; ++t) dot[0][r][t] = _mm512_dpbusd_epi32(dot[0][r][t], w[t], a);
      if (kBytes) continue;
      const __m512i b = x.Columns(plane, r, j + 4);
      auto& last = dot[kParts<S> - 1];
#pragma GCC unroll 8
      for (int t = 0; t < T; ++t) last[r][t] = _mm512_dpbusd_epi32(last[r][t], high[t], b);
    }
  }
}

// Σ X over column groups 0 … 3 of row r, in every lane.
template <int R, int P>
inline __m512i FirstHalfSum(const Panel<R>& x, int r) {
  const __m512i ones = _mm512_set1_epi8(1);
  __m512i sum = _mm512_setzero_si512();
  for (int plane = 0; plane < P; ++plane) {
    if (plane) sum = _mm512_slli_epi32(sum, 8);
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) sum = _mm512_dpbusd_epi32(sum, ones, x.Columns(plane, r, j));
  }
  return sum;
}

// Takes offset · Σ X off the sums of two parts.
template <Scheme S, int R, int T, int P>
HEXLANE_INLINE void CorrectParts(const Panel<R>& x, __m512i (&dot)[2][R][T]) {
  constexpr int kShift = kFormat<S>.bits - 1;
  static_assert(kOffset<S> == 1 << kShift);
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
    const __m512i first = FirstHalfSum<R, P>(x, r);
    const __m512i second = _mm512_sub_epi32(_mm512_set1_epi32(x.sums[r]), first);
#pragma GCC unroll 8
    for (int t = 0; t < T; ++t) {
      dot[0][r][t] = _mm512_sub_epi32(dot[0][r][t], _mm512_slli_epi32(first, kShift));
      dot[1][r][t] = _mm512_sub_epi32(dot[1][r][t], _mm512_slli_epi32(second, kShift));
    }
  }
}

// dot = Σ X · (wq + offset) - offset · Σ X, in P planes of X.
template <Scheme S, int R, int T, int P>
HEXLANE_INLINE void TileDots(const Panel<R>& x, const std::byte* quants, int64_t strip_bytes,
                             __m512i (&dot)[kParts<S>][R][T]) {
  constexpr int kCorrection = kParts<S> == 2 ? 0 : -kOffset<S>;
  constexpr int kFirst = P == 2 ? 0 : kCorrection;  // starting at the correction costs nothing
#pragma GCC unroll 8
  for (auto& part : dot)
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 8
      for (int t = 0; t < T; ++t)
        part[r][t] = kFirst ? _mm512_set1_epi32(kFirst * x.sums[r]) : _mm512_setzero_si512();
  AddPlane<S, R, T>(x, 0, quants, strip_bytes, dot);
  if constexpr (P == 2) {
#pragma GCC unroll 8
    for (auto& part : dot)
#pragma GCC unroll 8
      for (int r = 0; r < R; ++r)
#pragma GCC unroll 8
        for (int t = 0; t < T; ++t) {
          part[r][t] = _mm512_slli_epi32(part[r][t], 8);
          if (kCorrection)
            part[r][t] = _mm512_add_epi32(part[r][t], _mm512_set1_epi32(kCorrection * x.sums[r]));
        }
    AddPlane<S, R, T>(x, 1, quants, strip_bytes, dot);
  }
  if constexpr (kParts<S> == 2) CorrectParts<S, R, T, P>(x, dot);
}

// acc[r][t] += this tile's part of y.
template <Scheme S, int R, int T, int P>
HEXLANE_INLINE void AddTile(const Panel<R>& x, const std::byte* quants, const std::byte* scales,
                            int64_t strip_bytes, __m512 (&acc)[R][T]) {
  constexpr bool kScaled = kFormat<S>.scale_bytes != 0;
  constexpr bool kAffine = kFormat<S>.scale == ScaleKind::kAffine;
  __m512i dot[kParts<S>][R][T];
  TileDots<S, R, T, P>(x, quants, strip_bytes, dot);
#pragma GCC unroll 8
  for (int part = 0; part < kParts<S>; ++part)
#pragma GCC unroll 8
    for (int t = 0; t < T; ++t) {
      const std::byte* s = scales + t * strip_bytes + part * kFormat<S>.scale_bytes;
      const __m512 d = kScaled ? BlockScales<S>(s) : _mm512_set1_ps(1);
      const __m512 m = kAffine ? LoadHalves(s + 32) : _mm512_setzero_ps();
#pragma GCC unroll 8
      for (int r = 0; r < R; ++r) {
        __m512 f = _mm512_cvtepi32_ps(dot[part][r][t]);
        if (kScaled) f = _mm512_mul_ps(f, d);
        acc[r][t] = _mm512_fmadd_ps(f, _mm512_set1_ps(x.scales[r]), acc[r][t]);
        if (kAffine) acc[r][t] = _mm512_fmadd_ps(m, _mm512_set1_ps(x.scaled_sums[r]), acc[r][t]);
      }
    }
}

inline void Store(const MatMulCall& call, int64_t row, int64_t strip, __m512 sum) {
  const int64_t column = strip * kStripRows, left = call.n - column;
  const __mmask16 mask = left >= 16 ? 0xffff : static_cast<__mmask16>((1u << left) - 1);
  float* y = call.y + row * call.y_stride + column;
  if (call.bias) sum = _mm512_add_ps(sum, _mm512_maskz_loadu_ps(mask, call.bias + column));
  if (call.accumulate) sum = _mm512_add_ps(sum, _mm512_maskz_loadu_ps(mask, y));
  _mm512_mask_storeu_ps(y, mask, sum);
}

// R rows of one panel × T strips.
template <Scheme S, int R, int T, int P>
void Strips(const MatMulCall& call, int64_t first_row, int64_t strip) {
  const StripLayout& layout = call.layout;
  const std::byte* base = call.strips + strip * layout.strip_bytes;
  const std::byte* quants = base;
  const std::byte* scales = base + layout.scales;
  __m512 acc[R][T];
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 8
    for (int t = 0; t < T; ++t) acc[r][t] = _mm512_setzero_ps();
  Panel<R> x(call.x, first_row);
  Prefetcher<S, T> prefetcher(layout, base);
  for (int64_t tile = 1; tile <= layout.tiles; ++tile) {
    if (first_row == 0) prefetcher.Next();  // later panels find the strips in the cache
    AddTile<S, R, T, P>(x, quants, scales, layout.strip_bytes, acc);
    x.Next();
    quants += kFormat<S>.tile_bytes;
    if (tile % kFormat<S>.tiles_per_block == 0) scales += kFormat<S>.scale_bytes * kParts<S>;
  }
#pragma GCC unroll 8
  for (int t = 0; t < T; ++t) {
    const __m512 channel = kFormat<S>.channel_scales
                               ? _mm512_loadu_ps(base + t * layout.strip_bytes + layout.channel)
                               : _mm512_set1_ps(1);
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r)
      Store(call, first_row + r, strip + t,
            kFormat<S>.channel_scales ? _mm512_mul_ps(acc[r][t], channel) : acc[r][t]);
  }
}

template <Scheme S, int T, int P>
void Rows1To4(const MatMulCall& call, int64_t first_row, int64_t strip) {
  switch (call.x.rows - first_row) {
    case 1: return Strips<S, 1, T, P>(call, first_row, strip);
    case 2: return Strips<S, 2, T, P>(call, first_row, strip);
    case 3: return Strips<S, 3, T, P>(call, first_row, strip);
    default: return Strips<S, 4, T, P>(call, first_row, strip);
  }
}

template <Scheme S, int P>
void Planes(const MatMulCall& call, int64_t first, int64_t end) {
  constexpr int kPair = 2, kFour = 4;
  int64_t strip = first;
  if (call.x.rows == 1)  // registers for more strips, whose sums do not wait for each other
    for (; strip + kFour <= end; strip += kFour) Strips<S, 1, kFour, P>(call, 0, strip);
  for (; strip + kPair <= end; strip += kPair)
    for (int64_t row = 0; row < call.x.rows; row += kPanelRows)
      Rows1To4<S, kPair, P>(call, row, strip);
  for (; strip < end; ++strip)
    for (int64_t row = 0; row < call.x.rows; row += kPanelRows) Rows1To4<S, 1, P>(call, row, strip);
}

template <Scheme S>
void MatMul(const MatMulCall& call, int64_t first, int64_t end) {
  if (call.x.low) return Planes<S, 2>(call, first, end);
  Planes<S, 1>(call, first, end);
}
}  // namespace

#define SCHEME(Name, text, bits, block, kind)                                     \
  void MatMul##Name##Avx512(const MatMulCall& call, int64_t first, int64_t end) { \
    MatMul<Scheme::k##Name>(call, first, end);                                    \
  }
#include "base/schemes.def"
#undef SCHEME

}  // namespace hexlane
