#include "quant/float_rows.h"

#include <algorithm>

#include "base/encoding.h"
#include "kernels/pack/pack.h"

namespace hexlane {

std::vector<float> FloatRows(const TensorView& matrix, int64_t first, int64_t count) {
  const int64_t k = matrix.shape.last();
  std::vector<float> values(static_cast<size_t>(count * k));
  if (matrix.scheme != Scheme::kPlain) {
    DequantizeRows(matrix, first, count, values.data());
    return values;
  }
  const size_t row_bytes = static_cast<size_t>(k) * DTypeBytes(matrix.dtype);
  DecodeValues(matrix.bytes.subspan(first * row_bytes, count * row_bytes), {.dtype = matrix.dtype},
               values);
  return values;
}

std::vector<float> Transposed(std::span<const float> in, int64_t rows, int64_t columns) {
  constexpr int64_t kTile = 32;  // keeps both sides of the copy in the cache
  std::vector<float> out(in.size());
  for (int64_t first = 0; first < rows; first += kTile)
    for (int64_t column = 0; column < columns; ++column)
      for (int64_t row = first; row < std::min(rows, first + kTile); ++row)
        out[column * rows + row] = in[row * columns + column];
  return out;
}

}  // namespace hexlane
