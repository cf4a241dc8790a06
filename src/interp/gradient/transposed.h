#ifndef HEXLANE_INTERP_GRADIENT_TRANSPOSED_H_
#define HEXLANE_INTERP_GRADIENT_TRANSPOSED_H_

#include <algorithm>
#include <vector>

#include "kernels/rows.h"

namespace hexlane {

// [rows, dim] as [dim, rows]
inline std::vector<float> Transposed(ConstRows in) {
  constexpr int64_t kTile = 32;  // keeps both sides of the copy in the cache
  std::vector<float> out(static_cast<size_t>(in.rows * in.dim));
  for (int64_t first = 0; first < in.rows; first += kTile)
    for (int64_t column = 0; column < in.dim; ++column)
      for (int64_t row = first; row < std::min(in.rows, first + kTile); ++row)
        out[column * in.rows + row] = in.row(row)[column];
  return out;
}

}  // namespace hexlane

#endif  // HEXLANE_INTERP_GRADIENT_TRANSPOSED_H_
