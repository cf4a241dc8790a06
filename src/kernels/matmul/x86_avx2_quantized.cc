// Eight output rows per vector: a strip is two halves. VPMADDUBSW adds pairs of products in 16 bits
// with saturation: 4-bit quants leave room to add a whole block there; of 8-bit quants the sign is
// moved to the activation, so that |q| · x stays within ±32512 for a pair.
#include <immintrin.h>

#include "kernels/matmul/x86_prefetch.h"
#include "kernels/registry.h"

namespace hexlane {
namespace {
template <Scheme S>
constexpr PackedFormat kFormat = FormatOf(S);
// What is still added to q when it is multiplied; 8-bit quants are made signed first.
template <Scheme S>
constexpr int kOffset = kFormat<S>.bits == 8 ? 0 : kFormat<S>.offset;
// Blocks in one tile, whose sums are apart: 2 where the first is column groups 0 … 3.
template <Scheme S>
constexpr int kParts = kFormat<S>.blocks_per_tile;

constexpr int64_t kHalfRows = 8;

__m256i Load(const std::byte* p) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)); }
__m256i Four(const int8_t* p) {
  int32_t four;
  __builtin_memcpy(&four, p, 4);
  return _mm256_set1_epi32(four);
}
__m256 LoadHalves(const std::byte* p) {
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
}

template <Scheme S>
__m256 BlockScales(const std::byte* p) {
  if constexpr (kFormat<S>.scale == ScaleKind::kInteger)
    return _mm256_cvtepi32_ps(
        _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))));
  else
    return LoadHalves(p);
}

// Column groups j and j + 4 of quants of fewer than 8 bits.
template <Scheme S>
HEXLANE_INLINE void LoadQuants(const std::byte* tile, int j, __m256i& low, __m256i& high) {
  if constexpr (kFormat<S>.bits == 4) {
    const __m256i mask = _mm256_set1_epi8(15), both = Load(tile + 64 * j);
    low = _mm256_and_si256(both, mask);
    high = _mm256_and_si256(_mm256_srli_epi16(both, 4), mask);
  } else {
    const __m256i two = _mm256_set1_epi8(3), four = _mm256_set1_epi8(4), tops = Load(tile + 128);
    const auto quant = [&](const std::byte* pairs, __m256i top) {
      const __m256i pair = _mm256_srli_epi16(Load(pairs), 2 * j);
      return _mm256_or_si256(_mm256_and_si256(pair, two), _mm256_and_si256(top, four));
    };
    low = quant(tile, j < 2 ? _mm256_slli_epi16(tops, 2 - j) : _mm256_srli_epi16(tops, j - 2));
    high = quant(tile + 64, _mm256_srli_epi16(tops, j + 2));
  }
}

// dot[part][r] += Σ x · quants over one block, for R rows whose bytes are 32 apart.
template <Scheme S, int R>
HEXLANE_INLINE void AddNibbles(const int8_t* x, const std::byte* quants,
                               __m256i (&dot)[kParts<S>][R]) {
  const __m256i ones = _mm256_set1_epi16(1);
  __m256i sums[kParts<S>][R];
  for (auto& part : sums)
    for (__m256i& sum : part) sum = _mm256_setzero_si256();
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) {
    __m256i low, high;
    LoadQuants<S>(quants, j, low, high);
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) {
      const int8_t* row = x + r * kTileColumns + 4 * j;
      __m256i &first = sums[0][r], &last = sums[kParts<S> - 1][r];
      first = _mm256_add_epi16(first, _mm256_maddubs_epi16(low, Four(row)));
      last = _mm256_add_epi16(last, _mm256_maddubs_epi16(high, Four(row + 16)));
    }
  }
#pragma GCC unroll 2
  for (int part = 0; part < kParts<S>; ++part)
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r)
      dot[part][r] = _mm256_add_epi32(dot[part][r], _mm256_madd_epi16(sums[part][r], ones));
}

template <int R>
HEXLANE_INLINE void AddBytes(const int8_t* x, const std::byte* quants, __m256i (&dot)[R]) {
  const __m256i sign = _mm256_set1_epi8(-128), ones = _mm256_set1_epi16(1);
#pragma GCC unroll 8
  for (int j = 0; j < 8; ++j) {
    const __m256i w = _mm256_xor_si256(Load(quants + 64 * j), sign);
    const __m256i magnitude = _mm256_abs_epi8(w);
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) {
      const __m256i signed_x = _mm256_sign_epi8(Four(x + r * kTileColumns + 4 * j), w);
      const __m256i pairs = _mm256_maddubs_epi16(magnitude, signed_x);
      dot[r] = _mm256_add_epi32(dot[r], _mm256_madd_epi16(pairs, ones));
    }
  }
}

template <Scheme S, int R>
HEXLANE_INLINE void AddPlane(const int8_t* x, const std::byte* quants,
                             __m256i (&dot)[kParts<S>][R]) {
  if constexpr (kFormat<S>.bits == 8)
    AddBytes<R>(x, quants, dot[0]);
  else
    AddNibbles<S, R>(x, quants, dot);
}

// Σ of 16 activations, in every lane.
inline __m256i SumOf16(const int8_t* x) {
  const __m256i bytes =
      _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x)));
  const __m256i pairs = _mm256_maddubs_epi16(_mm256_set1_epi8(1), bytes);
  const __m256i fours = _mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
  const __m256i eights = _mm256_hadd_epi32(fours, fours);
  return _mm256_hadd_epi32(eights, eights);
}

// Takes offset · Σ X off the sums of row r, whose activations are at place `at`.
template <Scheme S, int R>
HEXLANE_INLINE void Correct(const QuantizedRows& x, int64_t at, int r,
                            __m256i (&dot)[kParts<S>][R]) {
  if constexpr (kOffset<S> != 0) {
    const __m256i offset = _mm256_set1_epi32(kOffset<S>), sum = _mm256_set1_epi32(x.sums[at]);
    __m256i last = sum;
    if constexpr (kParts<S> == 2) {
      __m256i first = SumOf16(x.q + at * kTileColumns);
      if (x.low)
        first = _mm256_add_epi32(_mm256_slli_epi32(first, 8), SumOf16(x.low + at * kTileColumns));
      dot[0][r] = _mm256_sub_epi32(dot[0][r], _mm256_mullo_epi32(first, offset));
      last = _mm256_sub_epi32(sum, first);
    }
    dot[kParts<S> - 1][r] =
        _mm256_sub_epi32(dot[kParts<S> - 1][r], _mm256_mullo_epi32(last, offset));
  }
}

// acc[r] += one tile's part of y; activations at place `at`, `scales` of the half's first row.
template <Scheme S, int R>
HEXLANE_INLINE void AddTile(const QuantizedRows& x, int64_t at, const std::byte* quants,
                            const std::byte* scales, __m256 (&acc)[R]) {
  constexpr bool kScaled = kFormat<S>.scale_bytes != 0;
  __m256i dot[kParts<S>][R];
  for (auto& part : dot)
    for (__m256i& sum : part) sum = _mm256_setzero_si256();
  AddPlane<S, R>(x.q + at * kTileColumns, quants, dot);
  if (x.low) {
    for (auto& part : dot)
      for (__m256i& sum : part) sum = _mm256_slli_epi32(sum, 8);
    AddPlane<S, R>(x.low + at * kTileColumns, quants, dot);
  }
  for (int r = 0; r < R; ++r) {
    Correct<S, R>(x, at + r, r, dot);
    for (int part = 0; part < kParts<S>; ++part) {
      __m256 f = _mm256_cvtepi32_ps(dot[part][r]);
      if (kScaled) f = _mm256_mul_ps(f, BlockScales<S>(scales + part * kFormat<S>.scale_bytes));
      acc[r] = _mm256_fmadd_ps(f, _mm256_set1_ps(x.scales[at + r]), acc[r]);
    }
    if (kFormat<S>.scale == ScaleKind::kAffine)
      acc[r] = _mm256_fmadd_ps(LoadHalves(scales + 2 * kStripRows),
                               _mm256_set1_ps(x.scaled_sums[at + r]), acc[r]);
  }
}

inline void Store(const MatMulCall& call, int64_t row, int64_t column, __m256 sum) {
  float values[kHalfRows];
  _mm256_storeu_ps(values, sum);
  float* y = call.y + row * call.y_stride;
  for (int64_t i = 0; i < kHalfRows && column + i < call.n; ++i) {
    const float value = values[i] + (call.bias ? call.bias[column + i] : 0);
    y[column + i] = call.accumulate ? y[column + i] + value : value;
  }
}

// R rows of one panel × half a strip.
template <Scheme S, int R>
void HalfStrip(const MatMulCall& call, int64_t first_row, int64_t column) {
  const StripLayout& layout = call.layout;
  const int64_t half = column % kStripRows / kHalfRows;
  const std::byte* base = call.strips + column / kStripRows * layout.strip_bytes;
  const std::byte* quants = base + half * 32;
  constexpr int64_t kScaleWidth = kFormat<S>.scale == ScaleKind::kInteger ? 1 : 2;
  const std::byte* scales = base + layout.scales + half * kHalfRows * kScaleWidth;
  __m256 acc[R];
  for (int r = 0; r < R; ++r) acc[r] = _mm256_setzero_ps();
  Prefetcher<S, 1> prefetcher(layout, base);
  for (int64_t tile = 0; tile < layout.tiles; ++tile) {
    if (half == 0 && first_row == 0) prefetcher.Next();  // all others find the strip in the cache
    AddTile<S, R>(call.x, first_row * layout.tiles + tile * R, quants, scales, acc);
    quants += kFormat<S>.tile_bytes;
    if ((tile + 1) % kFormat<S>.tiles_per_block == 0) scales += kFormat<S>.scale_bytes * kParts<S>;
  }
  const std::byte* channel = base + layout.channel + half * kHalfRows * 4;
  for (int r = 0; r < R; ++r) {
    if (kFormat<S>.channel_scales)
      acc[r] = _mm256_mul_ps(acc[r], _mm256_loadu_ps(reinterpret_cast<const float*>(channel)));
    Store(call, first_row + r, column, acc[r]);
  }
}

template <Scheme S>
void MatMul(const MatMulCall& call, int64_t first, int64_t end) {
  for (int64_t column = first * kStripRows; column < end * kStripRows && column < call.n;
       column += kHalfRows) {
    for (int64_t row = 0; row < call.x.rows; row += kPanelRows) {
      switch (call.x.rows - row) {
        case 1: HalfStrip<S, 1>(call, row, column); break;
        case 2: HalfStrip<S, 2>(call, row, column); break;
        case 3: HalfStrip<S, 3>(call, row, column); break;
        default: HalfStrip<S, 4>(call, row, column); break;
      }
    }
  }
}
}  // namespace

#define SCHEME(Name, text, bits, block, kind)                                   \
  void MatMul##Name##Avx2(const MatMulCall& call, int64_t first, int64_t end) { \
    MatMul<Scheme::k##Name>(call, first, end);                                  \
  }
#include "base/schemes.def"
#undef SCHEME

}  // namespace hexlane
