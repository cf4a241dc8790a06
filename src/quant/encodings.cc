#include "quant/encodings.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/finite.h"
#include "base/rounding.h"

namespace hexlane {
namespace {

// A scale that ships: float32 and never 0, which would divide.
float StoredScale(double scale) {
  const float stored = static_cast<float>(scale);
  return stored > 0 ? stored : 1;
}

}  // namespace

IntegerRange FullRange(int bits, bool is_signed) {
  const int32_t count = 1 << bits;
  return is_signed ? IntegerRange{-count / 2, count / 2 - 1} : IntegerRange{0, count - 1};
}

IntegerRange RestrictedRange(int bits) {
  const int32_t limit = (1 << (bits - 1)) - 1;
  return {-limit, limit};
}

void MinMax::Include(const MinMax& other) {
  min = std::min(min, other.min);
  max = std::max(max, other.max);
}

bool IsRange(const MinMax& range) {
  const bool finite = std::isfinite(range.min) && std::isfinite(range.max);
  return finite && range.min <= 0 && range.max >= 0 && range.min < range.max;
}

Result<MinMax> FindMinMax(std::span<const float> values, std::string_view where) {
  if (!AllFinite(values)) {
    const auto bad = std::ranges::find_if(values, [](float v) { return !std::isfinite(v); });
    return InvalidInput("a value to quantise is not finite")
        .At("{}: element {}", where, bad - values.begin())
        .Got("{}", *bad);
  }
  MinMax range;
  for (float value : values) {
    range.min = value < range.min ? value : range.min;
    range.max = value > range.max ? value : range.max;
  }
  return range;
}

Affine FitAsymmetric(const MinMax& range, IntegerRange integers) {
  const double steps = static_cast<double>(integers.max) - integers.min;
  const float scale = StoredScale((static_cast<double>(range.max) - range.min) / steps);
  const double zero = integers.min - static_cast<double>(range.min) / scale;
  return {scale, static_cast<int32_t>(LimitAndRound(zero, integers.min, integers.max))};
}

Affine FitSymmetric(float max_abs, IntegerRange integers) {
  return {StoredScale(static_cast<double>(max_abs) / integers.max), 0};
}

// Limiting before the zero point is added: the limits are integers, so the result is the same, and
// a huge quotient cannot overflow.
int32_t QuantizeValue(float value, const Affine& affine, IntegerRange integers) {
  const double level =
      LimitAndRound(value / static_cast<double>(affine.scale), integers.min - affine.zero_point,
                    integers.max - affine.zero_point);
  return static_cast<int32_t>(level) + affine.zero_point;
}

void QuantizeValues(std::span<const float> values, const Affine& affine, IntegerRange integers,
                    int8_t* q) {
  for (size_t i = 0; i < values.size(); ++i)
    q[i] = static_cast<int8_t>(QuantizeValue(values[i], affine, integers));
}

Encoding AsymmetricEncoding(const MinMax& range, DType dtype) {
  const Affine affine = FitAsymmetric(range, RangeOf(dtype));
  return {dtype, affine.scale, -affine.zero_point};
}

Encoding SymmetricEncoding(float max_abs, DType dtype) {
  const IntegerRange range = RangeOf(dtype);
  const int32_t middle = (range.min + range.max + 1) / 2;  // 0 for signed dtypes
  const Affine affine = FitSymmetric(max_abs, {range.min - middle, range.max - middle});
  return {dtype, affine.scale, -middle};
}

RealRange HeldBy(const Encoding& encoding) {
  constexpr double kF16Overflow = 65520;  // the least that rounds to infinity
  if (encoding.dtype == DType::kF16) return {-kF16Overflow, kF16Overflow};
  if (!encoding.is_integer()) {
    constexpr double kLargest = std::numeric_limits<float>::max();
    return {-kLargest, kLargest};
  }
  const IntegerRange range = RangeOf(encoding.dtype);
  return {(range.min + encoding.offset - 1.0) * encoding.scale,
          (range.max + encoding.offset + 1.0) * encoding.scale};
}

}  // namespace hexlane
