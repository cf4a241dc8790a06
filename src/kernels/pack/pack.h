// The packed form of a quantised weight matrix: what packages store and kernels/matmul multiplies.
//
// W [n, k] is padded to whole tiles of 16 rows × 32 columns. The 16 rows of one tile row are a
// strip, which starts at a multiple of 64 bytes:
//
//   quants of all its tiles
//     8 bits  8 vectors of 64 bytes; vector j holds columns 4j … 4j+3 of rows 0 … 15, row by row
//     4 bits  4 vectors; vector j holds column group j in its low nibbles, group j+4 in its high
//             ones
//     3 bits  the low two bits of groups 0 … 3 in vector 0, from the lowest on, of groups 4 … 7 in
//             vector 1; the high bit of group j as bit j in vector 2
//   scales of all its blocks, padded to 64 bytes; a block lies in one tile or several, and two of
//   16 columns in one
//     kFloat    f16 d[16] per block
//     kInteger  u8 s[16]
//     kAffine   f16 d[16], f16 m[16] (those of a GGUF file, bit for bit)
//   channel scales, f32 [16]: kInteger, and kFloat without blocks
//
// Quants are stored as q + offset (PackedFormat), unsigned, so that one instruction multiplies them
// with signed activations: q + 128, 8 or 4, and kAffine q itself. Four bytes of one row side by
// side are what VPDPBUSD, SDOT and VPMADDUBSW consume; a vector lane is an output row, so sums need
// no horizontal step. Padding: q = 0, scales 0.
//
// float32 scales of blocks are rounded to float16: fit them in float16 first.
#ifndef HEXLANE_KERNELS_PACK_PACK_H_
#define HEXLANE_KERNELS_PACK_PACK_H_

#include <memory>
#include <vector>

#include "base/quantized_matrix.h"
#include "base/tensor.h"
#include "kernels/pack/layout.h"

namespace hexlane {

StripLayout LayoutOf(Scheme scheme, int64_t k);

// Bytes of a packed [n, k]; n and k from a validated shape.
size_t PackedBytes(Scheme scheme, int64_t n, int64_t k);

Tensor Pack(const QuantizedMatrix& matrix);

// The same, some rows at a time. Threads may store at once where they share no strip (kStripRows
// rows, from a multiple of it).
class Packer {
 public:
  Packer(Scheme scheme, int64_t n, int64_t k);
  // Row 0 of `rows` as row `first_row` of the matrix, and so on; each row of it once.
  void Store(const QuantizedMatrix& rows, int64_t first_row);
  Tensor Finish() &&;

 private:
  Shape shape_;
  Scheme scheme_;
  size_t size_;
  std::shared_ptr<std::byte[]> bytes_;
};

// Rows first_row .. first_row + rows - 1 as plain arrays / as real numbers (out [rows, k]).
QuantizedMatrix Unpack(const TensorView& packed, int64_t first_row, int64_t rows);
// What Unpack gives of all rows, but for the integers: q stays empty.
QuantizedMatrix UnpackScales(const TensorView& packed);
// The integers of all rows, column by column: [k, n].
std::vector<int8_t> UnpackTransposed(const TensorView& packed);
void DequantizeRows(const TensorView& packed, int64_t first_row, int64_t rows, float* out);

// For a view made from an untrusted file: kCorrupt unless it is a sane 2-D shape whose packed size
// is exactly the bytes there are, suitably aligned. Any scale and quant bits are harmless to
// kernels (at worst NaN comes out).
Result<void> CheckPacked(const TensorView& packed, std::string_view name);

}  // namespace hexlane

#endif  // HEXLANE_KERNELS_PACK_PACK_H_
