// A matrix that a file stores in several tensors: integers, a scale for each group of columns of a
// row, and perhaps zero points. W [n, k]:
//   w[i, j] = (q[i, j] − z[i, g]) · s[i, g],   g = group of column j
#ifndef HEXLANE_FORMATS_GROUPED_GROUPED_MATRIX_H_
#define HEXLANE_FORMATS_GROUPED_GROUPED_MATRIX_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "base/quantized_matrix.h"
#include "formats/checkpoint.h"
#include "formats/grouped/packed_integers.h"

namespace hexlane {

struct GroupedMatrix {
  int64_t n = 0;
  int64_t k = 0;
  int64_t group = 0;                    // columns; divides k
  PackedIntegers q;                     // [n, k]
  std::optional<PackedIntegers> zeros;  // [n, groups]; none: 2^(bits-1) everywhere
  int zero_bias = 0;                    // added to stored zeros, modulo 2^bits
  StoredTensor scales;                  // [n, groups], or [groups, n] where transposed; floats
  bool scales_transposed = false;
  std::vector<int32_t> group_of;  // [k], 0 … groups - 1; empty: column j is of group j / group
  uint64_t side_bytes = 0;        // of everything but the integers

  int64_t groups() const { return k / group; }
  int middle() const { return 1 << (q.bits - 1); }
  float ScaleAt(int64_t row, int64_t group_index) const;
  int ZeroAt(int64_t row, int64_t group_index) const;

  // Rows first … first + count - 1 into out [count, k]; exact for scales of float16 and bfloat16.
  void DequantizeRows(int64_t first, int64_t count, float* out) const;

  // The scheme that holds the integers as they are:
  //   4 bits   symmetric: kW4Channel for one group a row, otherwise the widest of kW4Block128, 64
  //            and 32 that divides a group; not symmetric: likewise kW4Affine128 …, m = −s·z in
  //            float16
  //   8 bits   symmetric: kW8Channel for one group a row, otherwise kW8Block32
  // none for other 8-bit ones, groups that no block divides, and columns in an order of their own.
  std::optional<Scheme> kept_as() const;
  // `scheme` is what kept_as() gave, which looks at every zero point. May hold infinities.
  QuantizedMatrix Keep(Scheme scheme) const;

 private:
  bool symmetric() const;
};

}  // namespace hexlane

#endif  // HEXLANE_FORMATS_GROUPED_GROUPED_MATRIX_H_
