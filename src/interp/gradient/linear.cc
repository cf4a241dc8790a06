#include "base/transposed.h"
#include "interp/gradient/ops.h"
#include "kernels/matmul/float.h"

namespace hexlane {

void AddLinearInput(ConstRows dy, ConstRows w, Rows dx, ThreadPool* pool) {
  const std::vector<float> columns = Transposed(w.data, w.rows, w.dim);
  AddProduct(dy, {columns.data(), w.dim, w.rows}, dx, pool);
}

void AddLinearWeight(ConstRows dy, ConstRows x, Rows dw, ThreadPool* pool) {
  const std::vector<float> outputs = Transposed(dy.data, dy.rows, dy.dim);
  const std::vector<float> inputs = Transposed(x.data, x.rows, x.dim);
  AddProduct({outputs.data(), dy.dim, dy.rows}, {inputs.data(), x.dim, x.rows}, dw, pool);
}

void AddLinearBias(ConstRows dy, std::span<float> db) {
  for (int64_t r = 0; r < dy.rows; ++r)
    for (int64_t i = 0; i < dy.dim; ++i) db[i] += dy.row(r)[i];
}

}  // namespace hexlane
