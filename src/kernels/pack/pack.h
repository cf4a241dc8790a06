// The packed form of a quantised weight matrix: what packages store and kernels/matmul multiplies.
//
// W [n, k] is padded to whole tiles of 16 rows × 32 columns. The 16 rows of one tile row are a
// strip, which starts at a multiple of 64 bytes:
//
//   quants of all its tiles
//     w8  8 vectors of 64 bytes; vector j holds columns 4j … 4j+3 of rows 0 … 15, row by row
//     w4  4 vectors; vector j holds column group j in its low nibbles, group j+4 in its high ones
//   block scales of all its tiles, padded to 64 bytes
//     w8-block32   f16 d[16] per tile
//     w4-lpbq32    u8 s[16] per tile
//     w4-affine32  f16 d[16], f16 m[16] per tile (those of a GGUF file, bit for bit)
//   channel scales, f32 [16]: w8-channel and w4-lpbq32 only
//
// Quants are stored as q + QOffset(scheme), unsigned, so that one instruction multiplies them with
// signed activations: w8 q + 128, w4-lpbq q + 8, w4-affine q itself. Four bytes of one row side by
// side are what VPDPBUSD, SDOT and VPMADDUBSW consume; a vector lane is an output row, so sums need
// no horizontal step. Padding: q = 0, scales 0.
//
// float32 scales given to w8-block32 and w4-affine32 are rounded to float16: fit them in float16
// first.
#ifndef HEXLANE_KERNELS_PACK_PACK_H_
#define HEXLANE_KERNELS_PACK_PACK_H_

#include <memory>
#include <vector>

#include "base/quantized_matrix.h"
#include "base/tensor.h"
#include "kernels/pack/layout.h"

namespace hexlane {

StripLayout LayoutOf(Scheme scheme, int64_t k);
int QOffset(Scheme scheme);

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
