// Products with plain weights in vectors along k; included by vector/*.cc.
#include "kernels/matmul/plain.h"
#include "kernels/vector/vec.h"

namespace hexlane {
namespace {

// kLanes elements of a weight row from index i, the first `left` of which exist.
template <DType D>
inline F32 LoadWeights(const std::byte* row, int64_t i, int64_t left) {
  if constexpr (D == DType::kF32) {
    return LoadPart(reinterpret_cast<const float*>(row) + i, left);
  } else {
    const auto* p = reinterpret_cast<const uint16_t*>(row) + i;
    uint16_t part[kLanes] = {};
    if (left < kLanes) std::memcpy(part, p, static_cast<size_t>(left) * 2), p = part;
    return D == DType::kF16 ? LoadHalf(p) : LoadBf16(p);
  }
}

// R rows of x × C rows of w from column c.
template <DType D, int R, int C>
inline void PlainTile(const PlainMatMulCall& call, int64_t first, int64_t c) {
  const int64_t k = call.x.dim;
  constexpr int64_t kBytes = D == DType::kF32 ? 4 : 2;
  const std::byte* w = call.w + c * k * kBytes;
  F32 sums[R][C];
  for (int r = 0; r < R; ++r)
    for (int j = 0; j < C; ++j) sums[r][j] = Set(0);
  const auto step = [&](int64_t i, int64_t left) {
    F32 v[C];
    for (int j = 0; j < C; ++j) v[j] = LoadWeights<D>(w + j * k * kBytes, i, left);
    for (int r = 0; r < R; ++r) {
      const F32 a = LoadPart(call.x.row(first + r) + i, left);
      for (int j = 0; j < C; ++j) sums[r][j] = Fma(a, v[j], sums[r][j]);
    }
  };
  int64_t i = 0;
  for (; i + kLanes <= k; i += kLanes) step(i, kLanes);
  if (i < k) step(i, k - i);
  for (int r = 0; r < R; ++r) {
    for (int j = 0; j < C; ++j) {
      float& y = call.y[(first + r) * call.y_stride + c + j];
      const float sum = Sum(sums[r][j]) + (call.bias ? call.bias[c + j] : 0);
      y = call.accumulate ? y + sum : sum;
    }
  }
}

// Rows first_row … end_row - 1 of x with C rows of w.
template <DType D, int C>
inline void PlainColumns(const PlainMatMulCall& call, int64_t first_row, int64_t end_row,
                         int64_t c) {
  constexpr int kRows = 4;
  int64_t r = first_row;
  for (; r + kRows <= end_row; r += kRows) PlainTile<D, kRows, C>(call, r, c);
  for (; r < end_row; ++r) PlainTile<D, 1, C>(call, r, c);
}

template <DType D>
inline void PlainMatMulOf(const PlainMatMulCall& call, int64_t first, int64_t end) {
  constexpr int kColumns = kRegisters == 32 ? 4 : 2;
  constexpr int64_t kRowBlock = 64;  // rows of x that stay in the second-level cache
  for (int64_t r = 0; r < call.x.rows; r += kRowBlock) {
    const int64_t r_end = r + kRowBlock < call.x.rows ? r + kRowBlock : call.x.rows;
    int64_t c = first;
    for (; c + kColumns <= end; c += kColumns) PlainColumns<D, kColumns>(call, r, r_end, c);
    for (; c < end; ++c) PlainColumns<D, 1>(call, r, r_end, c);
  }
}

inline void PlainMatMulBody(const PlainMatMulCall& call, int64_t first, int64_t end) {
  if (call.dtype == DType::kF16) return PlainMatMulOf<DType::kF16>(call, first, end);
  if (call.dtype == DType::kBF16) return PlainMatMulOf<DType::kBF16>(call, first, end);
  PlainMatMulOf<DType::kF32>(call, first, end);
}

}  // namespace
}  // namespace hexlane
