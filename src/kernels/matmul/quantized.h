// y = x Wᵀ with W packed (pack/pack.h) and x quantised on the fly to integers X, one scale per row
// and block of 32 columns, so that every product is an integer dot product of one block:
//   x[r, i] ≈ scales[r, b] · X[r, i]
//   y[r, c] = Σ_b scales[r, b] · (w_scale[c, b] · Σ_i X[r, i] · wq[c, i] + w_min[c, b] · Σ_i X[r,
//   i])
// 8 bits:  X = q in -127..127, scale = max|x| / 127
// 16 bits: X = 256 q + low, both in -127..127, scale = max|x| / 32512; twice the multiplications,
// and
//          for practical purposes the exact product
#ifndef HEXLANE_KERNELS_MATMUL_QUANTIZED_H_
#define HEXLANE_KERNELS_MATMUL_QUANTIZED_H_

#include <cstddef>

#include "kernels/pack/layout.h"
#include "kernels/rows.h"

// The parts of inner loops: compilers would leave some as calls in a file with this many products.
#define HEXLANE_INLINE [[gnu::always_inline]] inline

namespace hexlane {

// Rows are kept in panels of kPanelRows (the last one may be lower), so that a kernel working on a
// panel reads one stream. A panel of height h whose first row is f: element i of block b of its row
// r is q[32·(f·blocks + b·h + r) + i], scales and sums are at [f·blocks + b·h + r]. A single row is
// thus plain [blocks, 32].
inline constexpr int64_t kPanelRows = 4;

enum class ActivationBits : uint8_t { k8, k16 };

struct QuantizedRows {
  int8_t* q = nullptr;
  int8_t* low = nullptr;  // as q; null: 8 bits
  float* scales = nullptr;
  float* scaled_sums = nullptr;  // scale · Σ X
  int32_t* sums = nullptr;       // Σ X
  int64_t rows = 0;
  int64_t blocks = 0;  // of 32 columns; columns past k are 0
};

inline int64_t Panels(int64_t rows) { return (rows + kPanelRows - 1) / kPanelRows; }

struct MatMulCall {
  QuantizedRows x;
  const std::byte* strips = nullptr;  // the whole packed matrix
  StripLayout layout;
  int64_t n = 0;       // output columns
  float* y = nullptr;  // y[r, c] is y[r * y_stride + c]
  int64_t y_stride = 0;
  const float* bias = nullptr;  // [n]
  bool accumulate = false;      // add to what y holds
};

// All rows of x with strips first … end - 1: columns 16·first … min(n, 16·end) - 1 of y.
using MatMulFn = void(const MatMulCall& call, int64_t first_strip, int64_t end_strip);

// Panels first … end - 1 of `out` from x [out.rows, k], in 16 bits where out.low is set.
using QuantizeRowsFn = void(ConstRows x, const QuantizedRows& out, int64_t first_panel,
                            int64_t end_panel);

}  // namespace hexlane

#endif  // HEXLANE_KERNELS_MATMUL_QUANTIZED_H_
