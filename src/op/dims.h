// Symbolic dimensions. A decoder's graphs are built once with symbols and specialised per stage
// (rows × context); a symbol is a negative number in a Shape.
#ifndef HEXLANE_OP_DIMS_H_
#define HEXLANE_OP_DIMS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/shape.h"

namespace hexlane {

inline constexpr int64_t kRows = -1;     // tokens processed at once
inline constexpr int64_t kPast = -2;     // cached positions before them
inline constexpr int64_t kContext = -3;  // kPast + kRows

// "rows", "past", "context", or the number.
std::string DimName(int64_t dim);
std::optional<int64_t> DimFromName(std::string_view name);

// Whether a value of this shape is a cache: of past positions.
inline bool IsPast(const Shape& shape) { return shape.rank() > 0 && shape[0] == kPast; }

// `shape` with symbols replaced: rows and past known, context their sum.
Shape Specialise(const Shape& shape, int64_t rows, int64_t past);

}  // namespace hexlane

#endif  // HEXLANE_OP_DIMS_H_
