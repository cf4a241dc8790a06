// Dimensions of a tensor, outermost first, row-major. At most kMaxRank of them, held inline.
#ifndef HEXLANE_BASE_SHAPE_H_
#define HEXLANE_BASE_SHAPE_H_

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>

#include "base/check.h"
#include "hexlane/status.h"

namespace hexlane {

class Shape {
 public:
  static constexpr int kMaxRank = 8;

  Shape() = default;
  Shape(std::initializer_list<int64_t> dims) : Shape(std::span(dims.begin(), dims.size())) {}
  explicit Shape(std::span<const int64_t> dims) : rank_(static_cast<int>(dims.size())) {
    CHECK(dims.size() <= kMaxRank);
    for (int i = 0; i < rank_; ++i) dims_[i] = dims[i];
  }

  int rank() const { return rank_; }
  int64_t operator[](int i) const { return dims_[i]; }
  int64_t& operator[](int i) { return dims_[i]; }
  std::span<const int64_t> dims() const { return {dims_.data(), static_cast<size_t>(rank_)}; }
  int64_t last() const { return rank_ ? dims_[rank_ - 1] : 1; }

  // Product of all dimensions. Only for shapes already known to be sane; CheckedElements for data
  // from a file.
  int64_t elements() const {
    int64_t n = 1;
    for (int64_t d : dims()) n *= d;
    return n;
  }
  // Number of rows when seen as a matrix [elements / last, last].
  int64_t rows() const { return last() ? elements() / last() : 0; }

  friend bool operator==(const Shape& a, const Shape& b) {
    return a.rank_ == b.rank_ && std::equal(a.dims().begin(), a.dims().end(), b.dims().begin());
  }

 private:
  std::array<int64_t, kMaxRank> dims_{};
  int rank_ = 0;
};

// Elements of a shape read from a file: an error for a negative dimension or a product past int64.
Result<int64_t> CheckedElements(std::span<const int64_t> dims);

}  // namespace hexlane

// Prints [2, 3].
template <>
struct fmt::formatter<hexlane::Shape> {
  constexpr auto parse(format_parse_context& ctx) { return ctx.begin(); }
  auto format(const hexlane::Shape& shape, format_context& ctx) const {
    auto out = fmt::format_to(ctx.out(), "[");
    for (int i = 0; i < shape.rank(); ++i)
      out = fmt::format_to(out, "{}{}", i ? ", " : "", shape[i]);
    return fmt::format_to(out, "]");
  }
};

#endif  // HEXLANE_BASE_SHAPE_H_
