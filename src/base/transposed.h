#ifndef HEXLANE_BASE_TRANSPOSED_H_
#define HEXLANE_BASE_TRANSPOSED_H_

#include <algorithm>
#include <cstdint>
#include <vector>

namespace hexlane {

// [rows, columns] as [columns, rows]
template <typename T>
std::vector<T> Transposed(const T* in, int64_t rows, int64_t columns) {
  constexpr int64_t kTile = 64;  // keeps both sides of the copy in the cache
  std::vector<T> out(static_cast<size_t>(rows * columns));
  for (int64_t row0 = 0; row0 < rows; row0 += kTile)
    for (int64_t column0 = 0; column0 < columns; column0 += kTile)
      for (int64_t row = row0; row < std::min(rows, row0 + kTile); ++row)
        for (int64_t column = column0; column < std::min(columns, column0 + kTile); ++column)
          out[static_cast<size_t>(column * rows + row)] = in[row * columns + column];
  return out;
}

}  // namespace hexlane

#endif  // HEXLANE_BASE_TRANSPOSED_H_
