// Weights as float32, whatever form a checkpoint or a package has them in.
#ifndef HEXLANE_QUANT_FLOAT_ROWS_H_
#define HEXLANE_QUANT_FLOAT_ROWS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "base/tensor.h"
#include "formats/checkpoint.h"

namespace hexlane {

// Rows first … first + count - 1 of a matrix [n, k]: [count, k].
std::vector<float> FloatRows(const TensorView& matrix, int64_t first, int64_t count);

// Reads them; `matrix` must outlive it.
RowReader RowsIn(const TensorView& matrix);

}  // namespace hexlane

#endif  // HEXLANE_QUANT_FLOAT_ROWS_H_
