// One vector register is one output row per lane (pack.h), one broadcast is 4 columns of one
// activation row.
#include <immintrin.h>

#include "base/scheme.h"
#include "kernels/matmul/x86_prefetch.h"
#include "kernels/registry.h"

namespace hexlane {
namespace {
constexpr bool HasNibbles(Scheme s) { return s == Scheme::kW4Affine32 || s == Scheme::kW4Lpbq32; }
constexpr bool HasChannelScales(Scheme s) {
  return s == Scheme::kW8Channel || s == Scheme::kW4Lpbq32;
}
// What was added to q to make it unsigned; its product with the activations is taken off again by
// starting the integer sum at -offset · Σq.
constexpr int Offset(Scheme s) {
  return s == Scheme::kW4Affine32 ? 0 : s == Scheme::kW4Lpbq32 ? 8 : 128;
}

__m512 LoadHalves(const std::byte* p) {
  return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
}

template <Scheme S>
__m512 BlockScales(const std::byte* p) {
  if constexpr (S == Scheme::kW4Lpbq32)
    return _mm512_cvtepi32_ps(
        _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))));
  else
    return LoadHalves(p);
}

constexpr int64_t TileBytes(Scheme s) { return HasNibbles(s) ? 256 : 512; }

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

// dot[r][t] += one plane of the activations times the block's quants.
template <Scheme S, int R, int T>
inline void AddPlane(const Panel<R>& x, int plane, const std::byte* quants, int64_t strip_bytes,
                     __m512i (&dot)[R][T]) {
  const __m512i low = _mm512_set1_epi8(15);
#pragma GCC unroll 8
  for (int j = 0; j < (HasNibbles(S) ? 4 : 8); ++j) {
    __m512i w[T], high[T];
#pragma GCC unroll 8
    for (int t = 0; t < T; ++t) {
      w[t] = _mm512_loadu_si512(quants + t * strip_bytes + 64 * j);
      if (HasNibbles(S)) high[t] = _mm512_and_si512(_mm512_srli_epi16(w[t], 4), low);
      if (HasNibbles(S)) w[t] = _mm512_and_si512(w[t], low);
    }
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
      const __m512i a = x.Columns(plane, r, j);
#pragma GCC unroll 8
      for (int t = 0; t < T; ++t) dot[r][t] = _mm512_dpbusd_epi32(dot[r][t], w[t], a);
      if (!HasNibbles(S)) continue;
      const __m512i b = x.Columns(plane, r, j + 4);
#pragma GCC unroll 8
      for (int t = 0; t < T; ++t) dot[r][t] = _mm512_dpbusd_epi32(dot[r][t], high[t], b);
    }
  }
}

// dot = Σ X · (wq + offset) - offset · Σ X, in P planes of X.
template <Scheme S, int R, int T, int P>
inline void BlockDots(const Panel<R>& x, const std::byte* quants, int64_t strip_bytes,
                      __m512i (&dot)[R][T]) {
  constexpr int kFirst = P == 2 ? 0 : -Offset(S);  // starting at the correction costs nothing
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 8
    for (int t = 0; t < T; ++t)
      dot[r][t] = kFirst ? _mm512_set1_epi32(kFirst * x.sums[r]) : _mm512_setzero_si512();
  AddPlane<S, R, T>(x, 0, quants, strip_bytes, dot);
  if constexpr (P == 2) {
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 8
      for (int t = 0; t < T; ++t) {
        dot[r][t] = _mm512_slli_epi32(dot[r][t], 8);
        if (Offset(S))
          dot[r][t] = _mm512_add_epi32(dot[r][t], _mm512_set1_epi32(-Offset(S) * x.sums[r]));
      }
    AddPlane<S, R, T>(x, 1, quants, strip_bytes, dot);
  }
}

// acc[r][t] += this block's part of y.
template <Scheme S, int R, int T, int P>
inline void AddBlock(const Panel<R>& x, const std::byte* quants, const std::byte* scales,
                     int64_t strip_bytes, __m512 (&acc)[R][T]) {
  __m512i dot[R][T];
  BlockDots<S, R, T, P>(x, quants, strip_bytes, dot);
#pragma GCC unroll 8
  for (int t = 0; t < T; ++t) {
    const std::byte* s = scales + t * strip_bytes;
    const __m512 d = S == Scheme::kW8Channel ? _mm512_set1_ps(1) : BlockScales<S>(s);
    const __m512 m = S == Scheme::kW4Affine32 ? LoadHalves(s + 32) : _mm512_setzero_ps();
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
      __m512 f = _mm512_cvtepi32_ps(dot[r][t]);
      if (S != Scheme::kW8Channel) f = _mm512_mul_ps(f, d);
      acc[r][t] = _mm512_fmadd_ps(f, _mm512_set1_ps(x.scales[r]), acc[r][t]);
      if (S == Scheme::kW4Affine32)
        acc[r][t] = _mm512_fmadd_ps(m, _mm512_set1_ps(x.scaled_sums[r]), acc[r][t]);
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
  Prefetcher<TileBytes(S), S != Scheme::kW8Channel, T> prefetcher(layout, base);
  for (int64_t b = 0; b < layout.blocks; ++b) {
    if (first_row == 0) prefetcher.Next();  // later panels find the strips in the cache
    AddBlock<S, R, T, P>(x, quants, scales, layout.strip_bytes, acc);
    x.Next();
    quants += TileBytes(S);
    scales += layout.scale_bytes;
  }
#pragma GCC unroll 8
  for (int t = 0; t < T; ++t) {
    const __m512 channel = HasChannelScales(S)
                               ? _mm512_loadu_ps(base + t * layout.strip_bytes + layout.channel)
                               : _mm512_set1_ps(1);
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r)
      Store(call, first_row + r, strip + t,
            HasChannelScales(S) ? _mm512_mul_ps(acc[r][t], channel) : acc[r][t]);
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

void MatMulW8ChannelAvx512(const MatMulCall& call, int64_t first, int64_t end) {
  MatMul<Scheme::kW8Channel>(call, first, end);
}
void MatMulW8Block32Avx512(const MatMulCall& call, int64_t first, int64_t end) {
  MatMul<Scheme::kW8Block32>(call, first, end);
}
void MatMulW4Lpbq32Avx512(const MatMulCall& call, int64_t first, int64_t end) {
  MatMul<Scheme::kW4Lpbq32>(call, first, end);
}
void MatMulW4Affine32Avx512(const MatMulCall& call, int64_t first, int64_t end) {
  MatMul<Scheme::kW4Affine32>(call, first, end);
}

}  // namespace hexlane
