// The arithmetic of quantisation: from a range of real numbers to a scale and a zero point, and
// from there to integers. All in double; the scale is rounded to float32 first, because that is
// what ships. A range without extent (all zeros, or too small for a float32 scale) has scale 1.
#ifndef HEXLANE_QUANT_ENCODINGS_H_
#define HEXLANE_QUANT_ENCODINGS_H_

#include <cstdint>
#include <span>
#include <string_view>

#include "base/encoding.h"
#include "hexlane/status.h"

namespace hexlane {

// All integers of `bits` bits: -8..7 or 0..15 for 4.
IntegerRange FullRange(int bits, bool is_signed);
// The symmetric ones: -7..7 for 4.
IntegerRange RestrictedRange(int bits);

// real = (q - zero_point) * scale. In an Encoding, offset = -zero_point.
struct Affine {
  float scale = 1;
  int32_t zero_point = 0;
};

// A range of real numbers; always contains 0, so that 0 is representable exactly.
struct MinMax {
  float min = 0;
  float max = 0;

  float max_abs() const { return max > -min ? max : -min; }
  void Include(const MinMax& other);
};
// Whether an encoding can have this range: it holds 0 and has an extent.
bool IsRange(const MinMax& range);
// The range of `values` and 0. kInvalidInput naming `where` and the index of the first NaN or
// infinity.
Result<MinMax> FindMinMax(std::span<const float> values, std::string_view where);

// scale = (max - min) / (qmax - qmin); zero_point = clamp(rint(qmin - min / scale)).
Affine FitAsymmetric(const MinMax& range, IntegerRange integers);
// scale = max_abs / qmax; zero_point = 0.
Affine FitSymmetric(float max_abs, IntegerRange integers);

// q = clamp(rint(value / scale) + zero_point), half to even.
int32_t QuantizeValue(float value, const Affine& affine, IntegerRange integers);
// The same for integers of at most 8 bits; q holds values.size() of them.
void QuantizeValues(std::span<const float> values, const Affine& affine, IntegerRange integers,
                    int8_t* q);

// The same for activation values stored as U8, I8, U16 or I16; F16 and F32 need no fitting.
// Symmetric unsigned means around the middle: U16 has offset -32768 and scale max_abs / 32767.
Encoding AsymmetricEncoding(const MinMax& range, DType dtype);
Encoding SymmetricEncoding(float max_abs, DType dtype);

// The real numbers that an encoding keeps: an integer one to within a step (half of one is the
// rounding of its zero point), F16 without becoming infinite.
struct RealRange {
  double low = 0;
  double high = 0;

  bool holds(double value) const { return value >= low && value <= high; }  // false for NaN
  double extent() const { return high - low; }
};
RealRange HeldBy(const Encoding& encoding);

}  // namespace hexlane

#endif  // HEXLANE_QUANT_ENCODINGS_H_
