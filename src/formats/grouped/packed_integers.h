// A matrix of unsigned integers in 32-bit words, as quantisers for GPUs store them.
#ifndef HEXLANE_FORMATS_GROUPED_PACKED_INTEGERS_H_
#define HEXLANE_FORMATS_GROUPED_PACKED_INTEGERS_H_

#include <array>
#include <cstdint>

#include "formats/decode/bits.h"

namespace hexlane {

// Where in its word each of 8 neighbours is, in integers from the lowest bits on.
using WordOrder = std::array<uint8_t, 8>;
inline constexpr WordOrder kInOrder = {0, 1, 2, 3, 4, 5, 6, 7};

// [rows, columns]; each little-endian word holds 32 / bits neighbours along one of the two axes.
struct PackedIntegers {
  const std::byte* words = nullptr;  // aligned for nothing
  int bits = 4;                      // 4 or 8
  bool along_rows = false;           // neighbours in a word are of one column
  int64_t row_stride = 0;            // words from a row (or a group of rows) to the next
  int64_t column_stride = 0;
  WordOrder order = kInOrder;

  int At(int64_t row, int64_t column) const {
    const int log2_count = bits == 4 ? 3 : 2;
    const int64_t along = along_rows ? row : column;
    const int64_t word = (along_rows ? row >> log2_count : row) * row_stride +
                         (along_rows ? column : column >> log2_count) * column_stride;
    const int place = order[along & ((1 << log2_count) - 1)];
    return static_cast<int>(Load<uint32_t>(words + 4 * word) >> (bits * place)) & ((1 << bits) - 1);
  }
};

}  // namespace hexlane

#endif  // HEXLANE_FORMATS_GROUPED_PACKED_INTEGERS_H_
