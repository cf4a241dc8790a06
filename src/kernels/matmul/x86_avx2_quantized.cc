// Eight output rows per vector: a strip is two halves. VPMADDUBSW adds pairs of products in 16 bits
// with saturation: 4-bit quants leave room to add a whole block there; of 8-bit quants the sign is
// moved to the activation, so that |q| · x stays within ±32512 for a pair.
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
// What is still added to q when it is multiplied; 8-bit quants are made signed first.
constexpr int Offset(Scheme s) { return s == Scheme::kW4Lpbq32 ? 8 : 0; }

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
  if constexpr (S == Scheme::kW4Lpbq32)
    return _mm256_cvtepi32_ps(
        _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))));
  else
    return LoadHalves(p);
}

// dot[r] += Σ x · quants over one block, for R rows whose bytes are 32 apart.
template <int R>
inline void AddNibbles(const int8_t* x, const std::byte* quants, __m256i (&dot)[R]) {
  const __m256i mask = _mm256_set1_epi8(15), ones = _mm256_set1_epi16(1);
  __m256i sums[R];
  for (int r = 0; r < R; ++r) sums[r] = _mm256_setzero_si256();
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) {
    const __m256i both = Load(quants + 64 * j);
    const __m256i low = _mm256_and_si256(both, mask);
    const __m256i high = _mm256_and_si256(_mm256_srli_epi16(both, 4), mask);
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) {
      const int8_t* row = x + r * kTileColumns;
      sums[r] = _mm256_add_epi16(sums[r], _mm256_maddubs_epi16(low, Four(row + 4 * j)));
      sums[r] = _mm256_add_epi16(sums[r], _mm256_maddubs_epi16(high, Four(row + 4 * j + 16)));
    }
  }
#pragma GCC unroll 4
  for (int r = 0; r < R; ++r) dot[r] = _mm256_add_epi32(dot[r], _mm256_madd_epi16(sums[r], ones));
}

template <int R>
inline void AddBytes(const int8_t* x, const std::byte* quants, __m256i (&dot)[R]) {
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
inline void AddPlane(const int8_t* x, const std::byte* quants, __m256i (&dot)[R]) {
  if constexpr (HasNibbles(S))
    AddNibbles<R>(x, quants, dot);
  else
    AddBytes<R>(x, quants, dot);
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
  const int64_t scale_width = S == Scheme::kW4Lpbq32 ? 1 : 2;
  const std::byte* scales = base + layout.scales + half * kHalfRows * scale_width;
  const int64_t start = first_row * layout.blocks;
  __m256 acc[R];
  for (int r = 0; r < R; ++r) acc[r] = _mm256_setzero_ps();
  Prefetcher<HasNibbles(S) ? 256 : 512, S != Scheme::kW8Channel, 1> prefetcher(layout, base);
  for (int64_t b = 0; b < layout.blocks; ++b) {
    if (half == 0 && first_row == 0) prefetcher.Next();  // all others find the strip in the cache
    const int64_t at = start + b * R;
    __m256i dot[R];
    for (int r = 0; r < R; ++r) dot[r] = _mm256_setzero_si256();
    AddPlane<S, R>(call.x.q + at * kTileColumns, quants, dot);
    if (call.x.low) {
      for (int r = 0; r < R; ++r) dot[r] = _mm256_slli_epi32(dot[r], 8);
      AddPlane<S, R>(call.x.low + at * kTileColumns, quants, dot);
    }
    for (int r = 0; r < R; ++r) {
      if (Offset(S))
        dot[r] = _mm256_sub_epi32(dot[r], _mm256_set1_epi32(Offset(S) * call.x.sums[at + r]));
      __m256 f = _mm256_cvtepi32_ps(dot[r]);
      if (S != Scheme::kW8Channel) f = _mm256_mul_ps(f, BlockScales<S>(scales));
      acc[r] = _mm256_fmadd_ps(f, _mm256_set1_ps(call.x.scales[at + r]), acc[r]);
      if (S == Scheme::kW4Affine32)
        acc[r] = _mm256_fmadd_ps(LoadHalves(scales + 2 * kStripRows),
                                 _mm256_set1_ps(call.x.scaled_sums[at + r]), acc[r]);
    }
    quants += layout.tile_bytes;
    scales += layout.scale_bytes;
  }
  const std::byte* channel = base + layout.channel + half * kHalfRows * 4;
  for (int r = 0; r < R; ++r) {
    if (HasChannelScales(S))
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

void MatMulW8ChannelAvx2(const MatMulCall& call, int64_t first, int64_t end) {
  MatMul<Scheme::kW8Channel>(call, first, end);
}
void MatMulW8Block32Avx2(const MatMulCall& call, int64_t first, int64_t end) {
  MatMul<Scheme::kW8Block32>(call, first, end);
}
void MatMulW4Lpbq32Avx2(const MatMulCall& call, int64_t first, int64_t end) {
  MatMul<Scheme::kW4Lpbq32>(call, first, end);
}
void MatMulW4Affine32Avx2(const MatMulCall& call, int64_t first, int64_t end) {
  MatMul<Scheme::kW4Affine32>(call, first, end);
}

}  // namespace hexlane
