// Float32 matrices as kernels see them: contiguous rows, owned by the caller.
#ifndef HEXLANE_KERNELS_ROWS_H_
#define HEXLANE_KERNELS_ROWS_H_

#include <cstdint>
#include <span>

namespace hexlane {

struct Rows {
  float* data = nullptr;  // [rows, dim]
  int64_t rows = 0;
  int64_t dim = 0;

  float* row(int64_t i) const { return data + i * dim; }
};

struct ConstRows {
  const float* data = nullptr;  // [rows, dim]
  int64_t rows = 0;
  int64_t dim = 0;

  ConstRows() = default;
  ConstRows(const float* data, int64_t rows, int64_t dim) : data(data), rows(rows), dim(dim) {}
  ConstRows(Rows r) : data(r.data), rows(r.rows), dim(r.dim) {}  // NOLINT: implicit by design
  const float* row(int64_t i) const { return data + i * dim; }
};

}  // namespace hexlane

#endif  // HEXLANE_KERNELS_ROWS_H_
