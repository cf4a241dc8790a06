#include "quant/aimet.h"

#include <gmock/gmock.h>

#include <random>
#include <tuple>

#include "kernels/pack/pack.h"
#include "quant/weights.h"

namespace hexlane {
namespace {

using ::testing::HasSubstr;

std::vector<OverrideRule> Rules(std::string_view text) {
  const auto file = ParseOverrides(text, "x.encodings");
  if (!file) ADD_FAILURE() << file.error().ToString();
  return file ? file->rules : std::vector<OverrideRule>();
}

std::string ErrorOf(std::string_view text) {
  const auto file = ParseOverrides(text, "x.encodings");
  return file ? "no error" : file.error().ToString();
}

TEST(Aimet, ReadsVersion061) {
  const auto rules = Rules(R"({
    "version": "0.6.1",
    "param_encodings": {
      "a.weight": [{"bitwidth": 8, "dtype": "int", "is_symmetric": "True", "min": -1, "max": 1, "scale": 0.0078, "offset": -128},
                   {"bitwidth": 8, "dtype": "int", "is_symmetric": "True", "min": -2, "max": 2, "scale": 0.0157, "offset": -128}],
      "b.weight": [{"bitwidth": 16, "dtype": "float"}]},
    "activation_encodings": {
      "a": [{"bitwidth": 16, "dtype": "int", "is_symmetric": "False", "min": -1.5, "max": 3, "scale": 6.9e-05, "offset": -21845}],
      "b": [{"bitwidth": 16, "dtype": "float"}]}})");
  ASSERT_EQ(rules.size(), 4u);
  EXPECT_EQ(rules[0].pattern, "a.weight");
  EXPECT_EQ(rules[0].gives.weights, Scheme::kW8Channel);
  EXPECT_EQ(rules[0].gives.rule, "x.encodings: param_encodings['a.weight']");
  EXPECT_EQ(rules[1].gives.weights, Scheme::kPlain);
  EXPECT_EQ(rules[2].gives.activations, DType::kU16);
  EXPECT_EQ(rules[2].gives.range->min, -1.5f);
  EXPECT_EQ(rules[2].gives.range->max, 3);
  EXPECT_EQ(rules[3].gives.activations, DType::kF16);
  EXPECT_FALSE(rules[3].gives.range);
}

TEST(Aimet, ReadsVersion100) {
  const auto rules = Rules(R"({
    "version": "1.0.0",
    "param_encodings": [
      {"name": "l.weight", "dtype": "INT", "enc_type": "LPBQ", "bw": 8, "compressed_bw": 4, "block_size": 32, "is_sym": true,
       "scale": [0.1], "offset": [-128], "per_block_int_scale": [3, 4]},
      {"name": "z.weight", "dtype": "INT", "enc_type": "PER_BLOCK", "bw": 4, "block_size": 32, "is_sym": false,
       "scale": [0.1, 0.2], "offset": [-3, -5]}],
    "activation_encodings": [
      {"name": "x", "dtype": "INT", "enc_type": "PER_TENSOR", "bw": 8, "is_sym": false, "scale": [0.5], "offset": [-10]},
      {"name": "y", "dtype": "FLOAT", "enc_type": "PER_TENSOR", "bw": 16}]})");
  ASSERT_EQ(rules.size(), 4u);
  EXPECT_EQ(rules[0].gives.weights, Scheme::kW4Lpbq32);
  EXPECT_EQ(rules[1].gives.weights, Scheme::kW4Affine32);
  EXPECT_EQ(rules[2].gives.activations, DType::kU8);
  EXPECT_EQ(rules[2].gives.range->min, -5);     // 0.5 · -10
  EXPECT_EQ(rules[2].gives.range->max, 122.5);  // 0.5 · (-10 + 255)
  EXPECT_EQ(rules[2].gives.rule, "x.encodings: activation_encodings[0]");
  EXPECT_EQ(rules[3].gives.activations, DType::kF16);
}

TEST(Aimet, WhatHasNoCounterpartIsNamed) {
  const auto weight = [](std::string_view fields) {
    return ErrorOf(
        fmt::format(R"({{"version": "1.0.0", "param_encodings": [{{"name": "w", {}}}]}})", fields));
  };
  const std::string_view rest = R"("scale": [1], "offset": [-8])";
  EXPECT_THAT(weight(fmt::format(R"("bw": 5, "dtype": "INT", {})", rest)), HasSubstr("5 bits"));
  EXPECT_THAT(weight(fmt::format(R"("bw": 4, "dtype": "BOOL", {})", rest)), HasSubstr("BOOL"));
  EXPECT_THAT(weight(R"("bw": 4)"), HasSubstr("param_encodings[0]"));
  EXPECT_THAT(weight(R"("bw": 4, "scale": ["x"], "offset": [1])"), HasSubstr("'scale'"));
  EXPECT_THAT(ErrorOf(R"({"version": "2.0.0", "encodings": []})"), HasSubstr("1.0.0"));
  EXPECT_THAT(ErrorOf(R"({"param_encodings": {"w": 3}})"), HasSubstr("['w']"));
  EXPECT_THAT(ErrorOf(R"({"param_encodings": 3})"), HasSubstr("neither"));
  EXPECT_THAT(ErrorOf(R"({"activation_encodings": {"x": [{"bitwidth": 16, "min": 2, "max": 1}]}})"),
              HasSubstr("no range"));
}

// An entry of version 1.0.0 of the weight "w" with these fields instead of its own.
std::string ErrorOfEntry(std::string_view key, const Json& fields) {
  Json entry = {{"name", "w"},    {"dtype", "INT"}, {"bw", 8},         {"enc_type", "PER_CHANNEL"},
                {"is_sym", true}, {"scale", {0.5}}, {"offset", {-128}}};
  entry.update(fields);
  return ErrorOf(Json{{"version", "1.0.0"}, {key, Json::array({entry})}}.dump());
}

TEST(Aimet, FieldsThatContradictEachOtherAreNamed) {
  EXPECT_EQ(ErrorOfEntry("param_encodings", Json::object()), "no error");
  const std::tuple<Json, const char*> cases[] = {
      {{{"enc_type", "VECTOR"}}, "PER_TENSOR, PER_CHANNEL, PER_BLOCK, LPBQ"},
      {{{"enc_type", "PER_BLOCK"}}, "PER_BLOCK without block_size"},
      {{{"block_size", 32}}, "PER_CHANNEL with block_size"},
      {{{"enc_type", "PER_BLOCK"}, {"block_size", 0}}, "not positive"},
      {{{"enc_type", "LPBQ"}, {"block_size", -32}}, "got -32"},
      {{{"enc_type", "PER_TENSOR"}, {"scale", {1, 2}}, {"offset", {0, 0}}}, "got 2 and 2"},
      {{{"scale", {1, 2}}}, "got 2 and 1"},
      {{{"scale", {0}}}, "above 0"},
      {{{"scale", {-0.5}}}, "above 0"},
      {{{"scale", {1e300}}}, "finite"},
      {{{"scale", {1e-300}}}, "above 0"},
      {{{"scale", {0.5, 0}}, {"offset", {-128, -128}}}, "above 0"},
      {{{"offset", {-127.5}}}, "no integer"},
      {{{"offset", {"x"}}}, "'offset'"},
  };
  for (const auto& [fields, says] : cases) {
    EXPECT_THAT(ErrorOfEntry("param_encodings", fields), AllOf(HasSubstr("'w'"), HasSubstr(says)))
        << fields;
  }
  EXPECT_THAT(ErrorOfEntry("activation_encodings", {{"scale", {1, 2}}, {"offset", {-3, -4}}}),
              AllOf(HasSubstr("'w'"), HasSubstr("several scales")));
}

TEST(Aimet, ChannelsOfVersion061ThatDoNotGoTogetherAreNamed) {
  const auto error = [](std::string_view key, const Json& fields) {
    const Json first = {{"bitwidth", 8}, {"dtype", "int"}, {"min", -1},
                        {"max", 1},      {"scale", 0.01},  {"offset", -128}};
    Json second = first;
    second.update(fields);
    return ErrorOf(Json{{key, {{"w", Json::array({first, second})}}}}.dump());
  };
  EXPECT_EQ(error("param_encodings", Json::object()), "no error");
  const std::tuple<Json, const char*> cases[] = {
      {{{"bitwidth", 4}}, "want int of 8 bits, as the first, got int of 4 bits"},
      {{{"dtype", "float"}}, "got float of 8 bits"},
      {{{"scale", 0}}, "above 0"},
      {{{"scale", -1}}, "above 0"},
      {{{"offset", 0.5}}, "no integer"},
  };
  for (const auto& [fields, says] : cases) {
    EXPECT_THAT(error("param_encodings", fields), AllOf(HasSubstr("'w'"), HasSubstr(says)))
        << fields;
  }
  EXPECT_THAT(error("activation_encodings", Json::object()),
              AllOf(HasSubstr("'w'"), HasSubstr("several scales")));
}

TEST(Aimet, ScalesOfZeroAndBelowAreWrittenAsSteps) {
  QuantizedMatrix matrix = QuantizedMatrix::Zero(Scheme::kW4Block32, 1, 96);
  matrix.scales = {-0.5f, 0, 0.25f};
  const Tensor packed = Pack(matrix);
  const Json entry = AimetWeight("w", packed.view());
  EXPECT_EQ(entry["scale"], Json({0.5, 1, 0.25}));
  EXPECT_EQ(entry["offset"], Json({-7, -8, -8})) << "the steps from -3.5 to 4";
  matrix = QuantizedMatrix::Zero(Scheme::kW4Affine32, 1, 96);
  matrix.scales = {-0.5f, 0, 0};
  matrix.mins = {4, -3, 0};
  const Tensor affine = Pack(matrix);
  EXPECT_EQ(AimetWeight("w", affine.view())["scale"], Json({0.5, 3, 1}));
  EXPECT_EQ(AimetWeight("w", affine.view())["offset"], Json({-7, -1, 0}));
}

// Weights by the definition of an entry's fields.
std::vector<float> WeightsOf(const Json& entry, const QuantizedMatrix& m) {
  std::vector<float> weights;
  const bool lpbq = entry["enc_type"] == "LPBQ";
  const auto block = entry.value("block_size", m.k);
  const int64_t blocks = (m.k + block - 1) / block;
  const int64_t middle = int64_t{1} << (Info(m.scheme).bits - 1);
  for (int64_t n = 0; n < m.n; ++n) {
    for (int64_t k = 0; k < m.k; ++k) {
      const size_t b = static_cast<size_t>(n * blocks + k / block);
      const size_t at = lpbq ? static_cast<size_t>(n) : b;
      double scale = entry["scale"][at];
      if (lpbq) scale *= entry["per_block_int_scale"][b].get<double>();
      const double q = m.q[static_cast<size_t>(n * m.k + k)];
      const bool affine = !entry["is_sym"].get<bool>();
      const double offset = affine ? entry["offset"][at].get<double>() : 0;
      weights.push_back(static_cast<float>(scale * (q + offset)));
      EXPECT_TRUE(affine || lpbq || entry["offset"][at] == -middle);
    }
  }
  return weights;
}

TEST(Aimet, WrittenEntriesDescribeTheWeights) {
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  std::vector<float> values(6 * 80);
  for (float& value : values) value = normal(random);
  for (const Scheme scheme : AllSchemes()) {
    const auto matrix = *QuantizeWeights({values, 6, 80, "w"}, scheme);
    const Tensor packed = Pack(matrix);
    const Json entry = AimetWeight("w", packed.view());
    std::vector<float> want(values.size());
    DequantizeRows(packed.view(), 0, 6, want.data());
    const std::vector<float> got = WeightsOf(entry, matrix);
    for (size_t i = 0; i < want.size(); ++i) {
      // An affine block's minimum becomes a multiple of its scale: off by half a step at most.
      const double step = *std::ranges::max_element(matrix.scales);
      const double tolerance = Info(scheme).scale == ScaleKind::kAffine ? 0.5 * step : 1e-5;
      EXPECT_NEAR(got[i], want[i], tolerance) << Info(scheme).name;
    }
    const auto rules =
        Rules(Json{{"version", "1.0.0"}, {"param_encodings", Json::array({entry})}}.dump());
    ASSERT_EQ(rules.size(), 1u);
    EXPECT_EQ(rules[0].gives.weights, scheme);
  }
}

TEST(Aimet, WrittenValuesAreReadBackWithTheirRange) {
  const Encoding encoding = AsymmetricEncoding({-1.25f, 3.5f}, DType::kU16);
  const Json entry = AimetValue("x", encoding);
  const auto rules =
      Rules(Json{{"activation_encodings", Json::array({entry})}, {"version", "1.0.0"}}.dump());
  ASSERT_EQ(rules.size(), 1u);
  const Encoding again = AsymmetricEncoding(*rules[0].gives.range, *rules[0].gives.activations);
  EXPECT_EQ(again.offset, encoding.offset);
  EXPECT_NEAR(again.scale, encoding.scale, 1e-6 * encoding.scale);
  EXPECT_EQ(AimetValue("x", {.dtype = DType::kF16})["dtype"], "FLOAT");
}

}  // namespace
}  // namespace hexlane
