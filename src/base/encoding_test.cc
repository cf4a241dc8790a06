#include "base/encoding.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

namespace hexlane {
namespace {

std::vector<float> RoundTrip(std::vector<float> values, const Encoding& encoding) {
  std::vector<std::byte> bytes(values.size() * DTypeBytes(encoding.dtype));
  EncodeValues(values, encoding, bytes);
  DecodeValues(bytes, encoding, values);
  return values;
}

TEST(Encoding, RoundsHalfToEven) {
  const std::vector<float> values{-2.5f, -1.5f, -0.5f, 0.5f, 1.5f, 2.5f};
  EXPECT_EQ(RoundTrip(values, {DType::kI8, 1, 0}), (std::vector<float>{-2, -2, 0, 0, 2, 2}));
  EXPECT_EQ(RoundTrip(values, {DType::kU16, 1, -32768}), (std::vector<float>{-2, -2, 0, 0, 2, 2}));
}

TEST(Encoding, SaturatesAtTheEndsOfTheDtype) {
  const std::vector<float> values{-1e30f, -200, 200, 1e30f, INFINITY, -INFINITY};
  EXPECT_EQ(RoundTrip(values, {DType::kU8, 1, -128}),
            (std::vector<float>{-128, -128, 127, 127, 127, -128}));
  EXPECT_EQ(RoundTrip(values, {DType::kU8, 1, 0}), (std::vector<float>{0, 0, 200, 255, 255, 0}));
}

TEST(Encoding, StoresTheIntegerThatQnnExpects) {
  std::vector<std::byte> bytes(2);
  EncodeValues(std::vector<float>{0.5f}, {DType::kU16, 0.25f, -32768}, bytes);
  EXPECT_EQ(std::to_integer<int>(bytes[0]) + 256 * std::to_integer<int>(bytes[1]), 32770);
}

TEST(Encoding, KeepsF16OverflowAndNanVisible) {
  const std::vector<float> out = RoundTrip({65504, 65519, 65520, -1e9f, NAN}, {DType::kF16});
  EXPECT_EQ(out[0], 65504);
  EXPECT_EQ(out[1], 65504);
  EXPECT_EQ(out[2], INFINITY);
  EXPECT_EQ(out[3], -INFINITY);
  EXPECT_TRUE(std::isnan(out[4]));
}

// Bit patterns spread over all exponents and both signs, with the ones around rounding ties of F16.
std::vector<float> ManyFloats() {
  std::vector<float> values;
  for (uint64_t bits = 0; bits < (1ull << 32); bits += 0x1001 * 3)
    values.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  for (uint32_t exponent = 90; exponent < 150; ++exponent)
    for (uint32_t low : {0x0fffu, 0x1000u, 0x1001u, 0x2fffu, 0x3000u, 0x3001u, 0x7fffffu})
      values.push_back(std::bit_cast<float>((exponent << 23) | low));
  return values;
}

TEST(Encoding, FakeQuantizeEqualsEncodeThenDecode) {
  const std::vector<Encoding> encodings{{DType::kF32, 0, 0},          {DType::kF16, 0, 0},
                                        {DType::kU8, 0.03f, -77},     {DType::kI8, 1e-3f, 5},
                                        {DType::kU16, 1e-4f, -40000}, {DType::kI16, 0.7f, 0}};
  for (const Encoding& encoding : encodings) {
    std::vector<float> fake = ManyFloats();
    const std::vector<float> want = RoundTrip(fake, encoding);
    FakeQuantize(fake, encoding);
    for (size_t i = 0; i < fake.size(); ++i)
      ASSERT_TRUE(fake[i] == want[i] || (std::isnan(fake[i]) && std::isnan(want[i])))
          << DTypeName(encoding.dtype) << " element " << i << ": " << fake[i] << ", " << want[i];
  }
}

}  // namespace
}  // namespace hexlane
