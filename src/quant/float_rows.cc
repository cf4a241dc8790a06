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

RowReader RowsIn(const TensorView& matrix) {
  return [matrix](int64_t first, std::span<float> out) -> Result<void> {
    const int64_t count = std::ssize(out) / matrix.shape.last();
    std::ranges::copy(FloatRows(matrix, first, count), out.begin());
    return {};
  };
}

}  // namespace hexlane
