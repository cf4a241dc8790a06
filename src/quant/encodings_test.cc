#include "quant/encodings.h"

#include <gtest/gtest.h>

#include <cmath>

#include "quant/golden_cases.h"

namespace hexlane {
namespace {

using golden::Case;
using golden::Load;

// A range and integers to a scale and zero point: FitAsymmetric or FitSymmetric.
using Fit = Affine (*)(const MinMax&, IntegerRange);
Affine Symmetric(const MinMax& range, IntegerRange integers) {
  return FitSymmetric(range.max_abs(), integers);
}

std::vector<int> Quantize(std::span<const float> x, const Affine& affine, IntegerRange integers) {
  std::vector<int> q;
  for (float value : x) q.push_back(QuantizeValue(value, affine, integers));
  return q;
}

// One golden case that is a single group of values.
void CheckGroup(const Case& test, Fit fit, IntegerRange integers) {
  const Result<MinMax> range = FindMinMax(test.x, test.name);
  if (test.json.contains("error")) {
    ASSERT_FALSE(range) << test.name;
    EXPECT_EQ(range.error().code, Code::kInvalidInput);
    return;
  }
  ASSERT_TRUE(range) << test.name;
  const Affine affine = fit(*range, integers);
  if (test.json["q_f32scale"].is_null()) {  // the scale underflows: all zeros
    for (int q : Quantize(test.x, affine, integers)) EXPECT_EQ(q, affine.zero_point);
    return;
  }
  EXPECT_EQ(affine.scale, test.json["scale_f32"].get<float>()) << test.name;
  EXPECT_EQ(affine.zero_point, test.json.value("zero_point_f32scale", 0)) << test.name;
  EXPECT_EQ(Quantize(test.x, affine, integers), test.json["q_f32scale"].get<std::vector<int>>())
      << test.name;
}

void CheckFile(const std::string& file, Fit fit, IntegerRange integers) {
  const std::vector<Case> cases = Load(file);
  EXPECT_EQ(cases.size(), 30u) << file;
  for (const Case& test : cases) CheckGroup(test, fit, integers);
}

TEST(Encodings, AsymmetricGoldenCases) {
  CheckFile("asymmetric_uint4", FitAsymmetric, FullRange(4, false));
  CheckFile("asymmetric_int4", FitAsymmetric, FullRange(4, true));
  CheckFile("asymmetric_uint8", FitAsymmetric, RangeOf(DType::kU8));
  CheckFile("asymmetric_int8", FitAsymmetric, RangeOf(DType::kI8));
  CheckFile("asymmetric_uint16", FitAsymmetric, RangeOf(DType::kU16));
  CheckFile("asymmetric_int16", FitAsymmetric, RangeOf(DType::kI16));
}

TEST(Encodings, SymmetricGoldenCases) {
  for (int bits : {2, 3, 4, 8, 16})
    CheckFile(fmt::format("symmetric_int{}", bits), Symmetric, RestrictedRange(bits));
}

IntegerRange IntegersOf(const Case& test) {
  const std::string dtype = test.json["dtype"];
  const int bits = std::stoi(dtype.substr(dtype.find('t') + 1));
  if (test.json.value("scheme", "symmetric") == "symmetric") return RestrictedRange(bits);
  return FullRange(bits, dtype[0] == 'i');
}

// Elements of `test` whose index along the case's axis is `channel`, in order, and where they are.
std::vector<size_t> ChannelOf(const Case& test, size_t channel) {
  const std::vector<size_t> shape = test.json["shape"];
  const size_t axis = test.json["axis"];
  size_t inner = 1;
  for (size_t d = axis + 1; d < shape.size(); ++d) inner *= shape[d];
  std::vector<size_t> where;
  for (size_t i = 0; i < test.x.size(); ++i)
    if (i / inner % shape[axis] == channel) where.push_back(i);
  return where;
}

void CheckChannel(const Case& test, size_t channel) {
  std::vector<float> x;
  std::vector<int> want;
  for (size_t i : ChannelOf(test, channel)) {
    x.push_back(test.x[i]);
    want.push_back(test.json["q_f32scale"][i]);
  }
  const Fit fit = test.json["scheme"] == "symmetric" ? Fit(Symmetric) : Fit(FitAsymmetric);
  const IntegerRange integers = IntegersOf(test);
  const Affine affine = fit(*FindMinMax(x, test.name), integers);
  EXPECT_EQ(affine.scale, test.json["scale_f32"][channel].get<float>()) << test.name;
  EXPECT_EQ(affine.zero_point, test.json["zero_point_f32scale"][channel].get<int>()) << test.name;
  EXPECT_EQ(Quantize(x, affine, integers), want) << test.name << " channel " << channel;
}

TEST(Encodings, PerChannelGoldenCases) {
  const std::vector<Case> cases = Load("per_channel");
  EXPECT_EQ(cases.size(), 20u);
  for (const Case& test : cases)
    for (size_t c = 0; c < test.json["scale"].size(); ++c) CheckChannel(test, c);
}

void CheckBlocks(const Case& test) {
  const size_t k = test.json["shape"][1];
  std::vector<int> q;
  std::vector<float> scales;
  for (size_t begin = 0; begin < test.x.size();) {
    const size_t count = std::min<size_t>(32, k - begin % k);
    const auto block = std::span(test.x).subspan(begin, count);
    const Affine affine = Symmetric(*FindMinMax(block, test.name), IntegersOf(test));
    scales.push_back(affine.scale);
    for (int value : Quantize(block, affine, IntegersOf(test))) q.push_back(value);
    begin += count;
  }
  EXPECT_EQ(scales, test.json["scale_f32"].get<std::vector<float>>()) << test.name;
  EXPECT_EQ(q, test.json["q_f32scale"].get<std::vector<int>>()) << test.name;
}

TEST(Encodings, BlockGoldenCases) {
  const std::vector<Case> cases = Load("block32_symmetric");
  EXPECT_EQ(cases.size(), 11u);
  for (const Case& test : cases) {
    if (test.json.contains("error"))
      EXPECT_FALSE(FindMinMax(test.x, test.name)) << test.name;
    else
      CheckBlocks(test);
  }
}

TEST(Encodings, NamesTheFirstValueThatIsNotFinite) {
  const Result<MinMax> range = FindMinMax(std::vector<float>{1, 2, NAN, INFINITY}, "layers.0.out");
  ASSERT_FALSE(range);
  EXPECT_EQ(range.error().where, "layers.0.out: element 2");
}

TEST(Encodings, OffsetIsTheNegatedZeroPoint) {
  const Encoding encoding = AsymmetricEncoding({-1, 3}, DType::kU8);
  EXPECT_EQ(encoding.offset, -64);
  EXPECT_FLOAT_EQ(encoding.scale, 4.0f / 255);
}

TEST(Encodings, SymmetricUnsignedIsCentredAsHtpRequires) {
  EXPECT_EQ(SymmetricEncoding(32767, DType::kU16), (Encoding{DType::kU16, 1, -32768}));
  EXPECT_EQ(SymmetricEncoding(127, DType::kU8), (Encoding{DType::kU8, 1, -128}));
  EXPECT_EQ(SymmetricEncoding(127, DType::kI8), (Encoding{DType::kI8, 1, 0}));
  EXPECT_EQ(SymmetricEncoding(0, DType::kU16), (Encoding{DType::kU16, 1, -32768}));
}

// What a device stores must be what the golden arithmetic says.
TEST(Encodings, EncodeValuesAgreesWithQuantizeValue) {
  for (const Case& test : Load("asymmetric_uint16")) {
    if (test.json.contains("error") || test.json["q_f32scale"].is_null()) continue;
    const Encoding encoding = AsymmetricEncoding(*FindMinMax(test.x, ""), DType::kU16);
    std::vector<uint16_t> q(test.x.size());
    EncodeValues(test.x, encoding, std::as_writable_bytes(std::span(q)));
    EXPECT_EQ(std::vector<int>(q.begin(), q.end()), test.json["q_f32scale"].get<std::vector<int>>())
        << test.name;
  }
}

}  // namespace
}  // namespace hexlane
