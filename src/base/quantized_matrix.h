// A weight matrix quantised by a Scheme, in plain arrays: what quant/ fits, formats read and
// emitters consume. kernels/pack turns it into the packed bytes that packages store and kernels
// multiply, and back.
#ifndef HEXLANE_BASE_QUANTIZED_MATRIX_H_
#define HEXLANE_BASE_QUANTIZED_MATRIX_H_

#include <cstdint>
#include <vector>

#include "base/scheme.h"

namespace hexlane {

struct QuantizedMatrix {
  Scheme scheme = Scheme::kW8Channel;
  int64_t n = 0;                      // output channels
  int64_t k = 0;                      // inputs
  std::vector<int8_t> q;              // [n, k]; signed, but 0..2^bits-1 for kAffine
  std::vector<float> scales;          // [n, blocks]; kInteger: [n], the channel scales
  std::vector<uint8_t> block_scales;  // [n, blocks], 1..16, kInteger only
  std::vector<float> mins;            // [n, blocks], kAffine only

  // n rows of k with scales of 0; without their integers, q stays empty.
  static QuantizedMatrix Empty(Scheme scheme, int64_t n, int64_t k);
  static QuantizedMatrix Zero(Scheme scheme, int64_t n, int64_t k);

  // Scale blocks in one row.
  int64_t blocks() const {
    const int block = Info(scheme).block;
    return block == 0 ? 1 : (k + block - 1) / block;
  }
  // A weight is q · scale + min.
  struct Affine {
    float scale = 0;
    float min = 0;
  };
  Affine AffineOf(int64_t row, int64_t column) const;
  // Row `row` as real numbers into `out` [k].
  void DequantizeRow(int64_t row, float* out) const;
};

}  // namespace hexlane

#endif  // HEXLANE_BASE_QUANTIZED_MATRIX_H_
