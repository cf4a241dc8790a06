#include "op/dims.h"

#include <charconv>

namespace hexlane {

std::string DimName(int64_t dim) {
  switch (dim) {
    case kRows: return "rows";
    case kPast: return "past";
    case kContext: return "context";
    default: return std::to_string(dim);
  }
}

std::optional<int64_t> DimFromName(std::string_view name) {
  for (const int64_t symbol : {kRows, kPast, kContext})
    if (name == DimName(symbol)) return symbol;
  int64_t value = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), value);
  if (error != std::errc() || end != name.data() + name.size() || value < 0) return std::nullopt;
  return value;
}

Shape Specialise(const Shape& shape, int64_t rows, int64_t past) {
  Shape result = shape;
  for (int i = 0; i < result.rank(); ++i) {
    if (shape[i] == kRows) result[i] = rows;
    if (shape[i] == kPast) result[i] = past;
    if (shape[i] == kContext) result[i] = past + rows;
  }
  return result;
}

}  // namespace hexlane
