#include "base/dtype.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

namespace hexlane {
namespace {

constexpr int kAll = 1 << 16;

// sign · 1.mantissa · 2^(exponent - bias), by the definition of IEEE 754, in double.
double ValueByDefinition(uint16_t bits, int mantissa_bits, int bias) {
  const int mantissa = bits & ((1 << mantissa_bits) - 1);
  const int exponent_mask = (1 << (15 - mantissa_bits)) - 1;
  const int exponent = (bits >> mantissa_bits) & exponent_mask;
  const double sign = bits & 0x8000 ? -1.0 : 1.0;
  if (exponent == exponent_mask)
    return mantissa ? std::nan("") : sign * std::numeric_limits<double>::infinity();
  const double fraction = std::ldexp(mantissa, -mantissa_bits);
  return exponent ? sign * std::ldexp(1.0 + fraction, exponent - bias)
                  : sign * std::ldexp(fraction, 1 - bias);
}

TEST(F16, EveryValueWidensExactly) {
  for (int bits = 0; bits < kAll; ++bits) {
    const double want = ValueByDefinition(static_cast<uint16_t>(bits), 10, 15);
    const float got = F16ToF32(static_cast<uint16_t>(bits));
    ASSERT_TRUE(std::isnan(want) ? std::isnan(got) : got == want) << bits;
    ASSERT_EQ(std::signbit(got), (bits & 0x8000) != 0) << bits;
  }
}

TEST(F16, EveryValueSurvivesTheRoundTrip) {
  for (int bits = 0; bits < kAll; ++bits) {
    const uint16_t back = F32ToF16(F16ToF32(static_cast<uint16_t>(bits)));
    const bool nan = (bits & 0x7fff) > 0x7c00;
    ASSERT_TRUE(nan ? (back & 0x7fff) > 0x7c00 : back == bits) << bits;
  }
}

// Between two neighbours: just below the middle goes down, just above goes up, the middle to the
// even one.
TEST(F16, RoundsToNearestAndTiesToEven) {
  for (int bits = 0; bits < 0x7bff; ++bits) {
    const float low = F16ToF32(static_cast<uint16_t>(bits));
    const float middle = (low + F16ToF32(static_cast<uint16_t>(bits + 1))) / 2;
    ASSERT_EQ(F32ToF16(middle), bits + (bits & 1)) << bits;
    ASSERT_EQ(F32ToF16(std::nextafter(middle, -1.0f)), bits) << bits;
    ASSERT_EQ(F32ToF16(std::nextafter(middle, 1e9f)), bits + 1) << bits;
    ASSERT_EQ(F32ToF16(-middle), (bits + (bits & 1)) | 0x8000) << bits;
  }
}

TEST(F16, OverflowsToInfinityFromTheMiddlePastTheLargest) {
  EXPECT_EQ(F32ToF16(65504.0f), 0x7bff);
  EXPECT_EQ(F32ToF16(std::nextafter(65520.0f, 0.0f)), 0x7bff);
  EXPECT_EQ(F32ToF16(65520.0f), 0x7c00);
  EXPECT_EQ(F32ToF16(-1e30f), 0xfc00);
  EXPECT_EQ(F32ToF16(std::numeric_limits<float>::infinity()), 0x7c00);
}

TEST(F16, TinyValuesBecomeSignedZeros) {
  EXPECT_EQ(F32ToF16(0x1p-25f), 0);  // half of the smallest: a tie, to even
  EXPECT_EQ(F32ToF16(std::nextafter(0x1p-25f, 1.0f)), 1);
  EXPECT_EQ(F32ToF16(-std::numeric_limits<float>::denorm_min()), 0x8000);
}

// 2^20 bit patterns of binary32 (all exponents, random mantissas) against another implementation.
template <typename Narrow, typename Reference>
void CompareOnRandomPatterns(Narrow narrow, Reference reference) {
  std::mt19937 random(1);
  for (int i = 0; i < (1 << 20); ++i) {
    const float value = std::bit_cast<float>(static_cast<uint32_t>(random()));
    if (std::isnan(value)) continue;
    ASSERT_EQ(narrow(value), reference(value)) << std::bit_cast<uint32_t>(value);
  }
}

#if defined(__ARM_FP16_FORMAT_IEEE)
using CompilersHalf = __fp16;
#define HEXLANE_HAS_HALF 1
#elif defined(__FLT16_MAX__)
using CompilersHalf = _Float16;
#define HEXLANE_HAS_HALF 1
#endif

#ifdef HEXLANE_HAS_HALF
TEST(F16, AgreesWithTheCompilersHalfType) {
  CompareOnRandomPatterns(
      F32ToF16, [](float v) { return std::bit_cast<uint16_t>(static_cast<CompilersHalf>(v)); });
}
#endif

TEST(Bf16, EveryValueWidensExactlyAndSurvivesTheRoundTrip) {
  for (int bits = 0; bits < kAll; ++bits) {
    const double want = ValueByDefinition(static_cast<uint16_t>(bits), 7, 127);
    const float got = Bf16ToF32(static_cast<uint16_t>(bits));
    ASSERT_TRUE(std::isnan(want) ? std::isnan(got) : got == want) << bits;
    const uint16_t back = F32ToBf16(got);
    ASSERT_TRUE(std::isnan(want) ? std::isnan(Bf16ToF32(back)) : back == bits) << bits;
  }
}

TEST(Bf16, RoundsToNearestAndTiesToEven) {
  EXPECT_EQ(F32ToBf16(std::bit_cast<float>(0x3f808000u)), 0x3f80);  // tie, even below
  EXPECT_EQ(F32ToBf16(std::bit_cast<float>(0x3f818000u)), 0x3f82);  // tie, even above
  EXPECT_EQ(F32ToBf16(std::bit_cast<float>(0x3f808001u)), 0x3f81);
  EXPECT_EQ(F32ToBf16(std::numeric_limits<float>::max()), 0x7f80);
  EXPECT_EQ(F32ToBf16(std::bit_cast<float>(0x7f800001u)), 0x7fc0);  // NaN whose low bits go
}

TEST(DType, NamesAndBytesAgreeWithTheTable) {
#define DTYPE(Name, text, bytes)                  \
  EXPECT_EQ(DTypeFromName(text), DType::k##Name); \
  EXPECT_EQ(DTypeName(DType::k##Name), text);     \
  EXPECT_EQ(DTypeBytes(DType::k##Name), size_t{bytes});
#include "base/dtypes.def"
#undef DTYPE
  EXPECT_EQ(DTypeFromName("F32"), std::nullopt);
  EXPECT_EQ(DTypeFromName(""), std::nullopt);
}

}  // namespace
}  // namespace hexlane
