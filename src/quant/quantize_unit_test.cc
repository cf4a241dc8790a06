#include "quant/quantize_unit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "base/json.h"
#include "interp/interpreter.h"
#include "ir/text.h"
#include "kernels/pack/pack.h"
#include "quant/weights.h"

namespace hexlane {
namespace {

constexpr int64_t kHidden = 64;

// One attention layer with two heads that share one key/value head, and a head.
constexpr std::string_view kLayer = R"(graph layers.0
input embed.out f32[rows, 64]
const norm.weight f32[64]
const q.weight f32[64, 64]
const k.weight f32[32, 64]
const v.weight f32[32, 64]
const o.weight f32[64, 64]
const o.bias f32[64]
input past_k f32[past, 32]
input past_v f32[past, 32]
input past_len i32[1]
norm f32[rows, 64] = RmsNorm(embed.out, norm.weight) eps=1e-05
q f32[rows, 64] = Linear(norm, q.weight)
k f32[rows, 32] = Linear(norm, k.weight)
v f32[rows, 32] = Linear(norm, v.weight)
attn f32[rows, 64], attn.scores f32[2, rows, context] = Attention(q, k, v, past_k, past_v, past_len) heads=2 kv_heads=1 head_dim=32 scale=0.17677669 window=0 softcap=0
o f32[rows, 64] = Linear(attn, o.weight, o.bias)
out f32[rows, 64] = Add(embed.out, o)
output out
output k
output v
)";
constexpr std::string_view kEmbed = R"(graph embed
input ids i32[rows]
const embed.weight f32[50, 64]
embed.out f32[rows, 64] = Embedding(ids, embed.weight)
output embed.out
)";
constexpr std::string_view kHead = R"(graph head
input out f32[rows, 64]
const lm_head.weight f32[50, 64]
logits f32[rows, 50] = Linear(out, lm_head.weight)
output logits
)";

int64_t ElementsOf(std::string_view name) {
  if (name == "embed.weight" || name == "lm_head.weight") return 50 * kHidden;
  if (name == "k.weight" || name == "v.weight") return 32 * kHidden;
  return name == "norm.weight" || name == "o.bias" ? kHidden : kHidden * kHidden;
}

Result<Tensor> RandomWeight(std::string_view name) {
  const int64_t count = ElementsOf(name);
  std::mt19937 random(static_cast<unsigned>(count + name[0]));
  std::normal_distribution<float> normal(0, 0.2f);
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = normal(random);
  const Shape shape = count == kHidden ? Shape{kHidden} : Shape{count / kHidden, kHidden};
  return Tensor::FromFloats(std::move(values), shape);
}

Graph Make(std::string_view text) {
  Result<Graph> graph = Parse(text, "test", RandomWeight);
  if (!graph) ADD_FAILURE() << graph.error().ToString();
  return graph ? *std::move(graph) : Graph("none");
}

std::vector<std::vector<int32_t>> Windows() {
  std::vector<int32_t> ids;
  for (int i = 0; i < 40; ++i) ids.push_back(i * 7 % 50);
  return CalibrationWindows(ids, 20, 8);
}

// Calibrates on the float model of three units.
ActivationRanges Calibrate() {
  Calibrator calibrator(Windows());
  EXPECT_TRUE(calibrator.Advance(Make(kEmbed), false));
  EXPECT_TRUE(calibrator.Advance(Make(kLayer), false));
  EXPECT_TRUE(calibrator.Advance(Make(kHead), true));
  return calibrator.ranges();
}

QuantizeArgs Args(std::string_view scheme, const ActivationRanges* ranges, int kv_bits = 16) {
  return {{*FindQuantScheme(scheme), kv_bits}, ranges};
}

const Encoding& EncodingOf(const Graph& graph, std::string_view name) {
  return *graph.value(graph.Find(name)).encoding;
}

std::vector<float> Logits(std::array<Graph, 3>& units, bool fake_quantise) {
  DecoderRun run(Windows());
  std::vector<float> logits;
  const DecoderRun::Sink keep = [&](size_t, std::vector<float> values) -> Result<void> {
    logits.insert(logits.end(), values.begin(), values.end());
    return {};
  };
  for (int i = 0; i < 3; ++i) {
    const InterpreterOptions options{.fake_quantise = fake_quantise};
    const Result<void> done = run.Advance(units[i], options, {}, i == 2 ? keep : nullptr);
    if (!done) ADD_FAILURE() << done.error().ToString();
  }
  return logits;
}

double Cosine(const std::vector<float>& a, const std::vector<float>& b) {
  double dot = 0, aa = 0, bb = 0;
  for (size_t i = 0; i < a.size(); ++i) dot += a[i] * b[i], aa += a[i] * a[i], bb += b[i] * b[i];
  return dot / std::sqrt(aa * bb);
}

double CosineToFloat(std::string_view scheme, int kv_bits) {
  std::array<Graph, 3> units{Make(kEmbed), Make(kLayer), Make(kHead)};
  const std::vector<float> want = Logits(units, false);
  const ActivationRanges ranges = Calibrate();
  for (Graph& unit : units) {
    const Result<UnitReport> report = QuantizeUnit(unit, Args(scheme, &ranges, kv_bits));
    if (!report) ADD_FAILURE() << report.error().ToString();
  }
  return Cosine(want, Logits(units, true));
}

// Mean over tokens of what the layer's `v` lacks of the float layer's, squared, summed over
// channels.
double MeanErrorOfValues(std::string_view algorithm) {
  Calibrator calibrator(Windows());
  MomentsByValue moments;
  std::array<Graph, 2> units{Make(kEmbed), Make(kLayer)};
  EXPECT_TRUE(calibrator.Advance(units[0], false));
  EXPECT_TRUE(calibrator.Observe(units[1], moments));
  QuantizeArgs args = Args("w4a16", &calibrator.ranges());
  args.options.algorithm = *ParseAlgorithm(algorithm);
  args.moments = &moments;
  std::vector<double> sums(32);
  const auto add = [&](double sign) {
    DecoderRun run(Windows());
    const Observer observer = [&](const Value& value, std::span<const float> values) {
      if (value.name != "v") return;
      for (size_t i = 0; i < values.size(); ++i) sums[i % 32] += sign * values[i];
    };
    for (const Graph& unit : units) EXPECT_TRUE(run.Advance(unit, {}, observer));
  };
  add(1);
  EXPECT_TRUE(QuantizeUnit(units[1], args));
  add(-1);
  double error = 0;
  for (const double sum : sums) error += sum * sum;
  return error;
}

TEST(QuantizeUnit, BiasCorrectionTakesTheMeanErrorAway) {
  const double without = MeanErrorOfValues("rtn");
  EXPECT_GT(without, 0.1);
  EXPECT_LT(MeanErrorOfValues("bias"), 1e-4 * without);
  EXPECT_LT(MeanErrorOfValues("gptq+bias"), 1e-4 * without);
}

TEST(QuantizeUnit, AnAlgorithmNeedsWhatCalibrationSaw) {
  Graph layer = Make(kLayer);
  const ActivationRanges ranges = Calibrate();
  QuantizeArgs args = Args("w4a16", &ranges);
  args.options.algorithm.gptq = true;
  const auto report = QuantizeUnit(layer, args);
  ASSERT_FALSE(report);
  EXPECT_NE(report.error().what.find("'norm' was not seen"), std::string::npos);
}

TEST(QuantizeUnit, StaysCloseToFloatInEveryScheme) {
  EXPECT_GT(CosineToFloat("f16", 16), 0.999999);
  EXPECT_GT(CosineToFloat("w8a16", 16), 0.9998);
  EXPECT_GT(CosineToFloat("w8a16", 8), 0.9995);
  EXPECT_GT(CosineToFloat("w4a16", 16), 0.98);
  EXPECT_GT(CosineToFloat("w4-exact", 16), 0.9999);
  EXPECT_GT(CosineToFloat("w4-asym", 16), 0.98);
  EXPECT_GT(CosineToFloat("w4c-a16", 16), 0.96);
  EXPECT_GT(CosineToFloat("w3a16", 16), 0.93);
  EXPECT_GT(CosineToFloat("w8a8", 8), 0.998);
  EXPECT_GT(CosineToFloat("w4a8", 8), 0.98);
}

// The layer, quantised right after it was calibrated, when its histograms are still there.
Graph QuantisedLayer(std::string_view observer, UnitReport* report) {
  Calibrator calibrator(Windows());
  EXPECT_TRUE(calibrator.Advance(Make(kEmbed), false));
  EXPECT_TRUE(calibrator.Advance(Make(kLayer), false));
  QuantizeArgs args = Args("w8a16", &calibrator.ranges(), 8);
  args.options.observer = *ParseRangeRule(observer);
  Graph unit = Make(kLayer);
  Result<UnitReport> quantised = QuantizeUnit(unit, args);
  EXPECT_TRUE(quantised) << quantised.error().ToString();
  if (quantised) *report = *std::move(quantised);
  return unit;
}

double Clipped(const UnitReport& report, std::string_view name) {
  const auto value = std::ranges::find(report.values, name, &ValueReport::name);
  return value->seen->clipped;
}

TEST(QuantizeUnit, ObserversShortenIntegerRangesButNotScores) {
  UnitReport all, most;
  const Graph whole = QuantisedLayer("minmax", &all);
  const Graph cut = QuantisedLayer("percentile:90", &most);
  EXPECT_EQ(all.clipped(), 0);
  EXPECT_GT(most.clipped(), 0.01);
  for (const char* name : {"q", "k", "v", "past_k", "attn"}) {
    EXPECT_LT(EncodingOf(cut, name).scale, EncodingOf(whole, name).scale) << name;
    EXPECT_GT(Clipped(most, name), 0) << name;
    EXPECT_LT(Clipped(most, name), 0.11) << name;
  }
  EXPECT_EQ(EncodingOf(cut, "k").offset, -128);
  EXPECT_EQ(EncodingOf(cut, "past_k"), EncodingOf(cut, "k"));
  EXPECT_EQ(EncodingOf(cut, "attn.scores"), EncodingOf(whole, "attn.scores"));
}

TEST(QuantizeUnit, EveryObserverMakesEncodingsThatKeepMostOfTheValues) {
  for (const char* observer : {"percentile", "mse", "entropy"}) {
    UnitReport report;
    QuantisedLayer(observer, &report);
    EXPECT_LT(report.clipped(), 0.01) << observer;
  }
}

TEST(QuantizeUnit, ASketchHasTheFormOfTheQuantisedUnit) {
  const ActivationRanges ranges = Calibrate();
  for (const QuantScheme& row : AllQuantSchemes()) {
    const std::string_view scheme = row.name;
    for (const std::string_view text : {kEmbed, kLayer, kHead}) {
      Graph unit = Make(text), sketch = Make(text);
      ASSERT_TRUE(QuantizeUnit(unit, Args(scheme, &ranges)));
      ASSERT_TRUE(SketchUnit(sketch, Args(scheme, nullptr).options));
      for (const Value& value : unit.values()) {
        const Value& drawn = sketch.value(sketch.Find(value.name));
        EXPECT_EQ(drawn.encoding.has_value(), value.encoding.has_value()) << value.name;
        if (!value.constant) continue;
        const TensorView want = value.constant->view(), got = drawn.constant->view();
        EXPECT_EQ(got.bytes.size(), want.bytes.size()) << scheme << ' ' << value.name;
        EXPECT_EQ(got.scheme, want.scheme) << value.name;
        EXPECT_EQ(got.dtype, want.dtype) << value.name;
        EXPECT_EQ(got.shape, want.shape) << value.name;
      }
    }
  }
}

TEST(QuantizeUnit, KeysAndValuesAreSymmetricAsHtpRequires) {
  const ActivationRanges ranges = Calibrate();
  for (const int bits : {8, 16}) {
    Graph unit = Make(kLayer);
    ASSERT_TRUE(QuantizeUnit(unit, Args("w4a16", &ranges, bits)));
    for (const std::string_view name : {"k", "v"}) {
      const Encoding& encoding = EncodingOf(unit, name);
      EXPECT_EQ(encoding.dtype, bits == 8 ? DType::kU8 : DType::kU16);
      EXPECT_EQ(encoding.offset, bits == 8 ? -128 : -32768);
      EXPECT_EQ(EncodingOf(unit, fmt::format("past_{}", name)), encoding);
    }
  }
}

TEST(QuantizeUnit, EncodingsAgreeAcrossUnits) {
  const ActivationRanges ranges = Calibrate();
  Graph embed = Make(kEmbed), layer = Make(kLayer), head = Make(kHead);
  for (Graph* unit : {&embed, &layer, &head})
    ASSERT_TRUE(QuantizeUnit(*unit, Args("w8a16", &ranges)));
  EXPECT_EQ(EncodingOf(embed, "embed.out"), EncodingOf(layer, "embed.out"));
  EXPECT_EQ(EncodingOf(layer, "out"), EncodingOf(head, "out"));
}

TEST(QuantizeUnit, AMaskedScoreSaturatesBelowEveryVisibleOne) {
  const ActivationRanges ranges = Calibrate();
  Graph unit = Make(kLayer);
  ASSERT_TRUE(QuantizeUnit(unit, Args("w8a16", &ranges)));
  std::vector<float> masked{-1e9f};
  FakeQuantize(masked, EncodingOf(unit, "attn.scores"));
  EXPECT_LT(masked[0], ranges.at("attn.scores").min - 0.99f * kMaskMargin);
}

TEST(QuantizeUnit, ChoosesSchemesByRole) {
  const ActivationRanges ranges = Calibrate();
  Graph layer = Make(kLayer), head = Make(kHead), embed = Make(kEmbed);
  for (Graph* unit : {&embed, &layer, &head})
    ASSERT_TRUE(QuantizeUnit(*unit, Args("w4a16", &ranges)));
  const auto scheme = [](const Graph& unit, std::string_view name) {
    return unit.value(unit.Find(name)).constant->view().scheme;
  };
  EXPECT_EQ(scheme(layer, "q.weight"), Scheme::kW4Lpbq32);
  EXPECT_EQ(scheme(head, "lm_head.weight"), Scheme::kW8Channel);
  EXPECT_EQ(scheme(embed, "embed.weight"), Scheme::kW8Channel);
  EXPECT_EQ(scheme(layer, "norm.weight"), Scheme::kPlain);
}

TEST(QuantizeUnit, EightBitActivationsKeepLogitsScoresAndResidualWider) {
  const ActivationRanges ranges = Calibrate();
  Graph layer = Make(kLayer), head = Make(kHead);
  for (Graph* unit : {&layer, &head}) ASSERT_TRUE(QuantizeUnit(*unit, Args("w8a8", &ranges, 8)));
  EXPECT_EQ(EncodingOf(layer, "q").dtype, DType::kU8);
  EXPECT_EQ(EncodingOf(layer, "attn").dtype, DType::kU8);
  EXPECT_EQ(EncodingOf(layer, "attn.scores").dtype, DType::kU16);
  EXPECT_EQ(EncodingOf(layer, "out").dtype, DType::kF16);
  EXPECT_EQ(EncodingOf(head, "logits").dtype, DType::kU16);
}

TEST(QuantizeUnit, AnEmbeddingTableOfItsOwnGetsTheSchemesTableForm) {
  for (const bool lone : {false, true}) {
    Graph unit = Make(kEmbed);
    QuantizeArgs args = Args("w4-asym", nullptr);
    args.options.lone_table = lone;
    ASSERT_TRUE(QuantizeUnit(unit, args));
    const Scheme scheme = unit.value(unit.Find("embed.weight")).constant->view().scheme;
    EXPECT_EQ(scheme, lone ? Scheme::kW4Affine32 : Scheme::kW8Channel);
  }
}

// Of rounding the table: Σ|(W - Ŵ) x|² over the head's inputs x.
double ErrorAtTheHead(const Moments& inputs, const Moments* given) {
  Graph unit = Make(kEmbed);
  const std::span<const float> before = unit.value(unit.Find("embed.weight")).constant->floats();
  const std::vector<float> exact(before.begin(), before.end());
  QuantizeArgs args = Args("w4c-f16", nullptr);
  args.options.overrides.SetWeights("embed.weight", Scheme::kW4Channel);
  args.options.algorithm = {.search = true, .gptq = true};
  args.head_inputs = given;
  EXPECT_TRUE(QuantizeUnit(unit, args));
  const std::vector<float> rounded =
      ToFloats(unit.value(unit.Find("embed.weight")).constant->view());
  double sum = 0;
  for (int64_t row = 0; row < 50; ++row)
    for (int64_t i = 0; i < kHidden; ++i)
      for (int64_t j = 0; j < kHidden; ++j)
        sum += double{exact[row * kHidden + i] - rounded[row * kHidden + i]} *
               (exact[row * kHidden + j] - rounded[row * kHidden + j]) *
               inputs.sum()[i * kHidden + j];
  return sum;
}

TEST(QuantizeUnit, ATableThatIsTheHeadTooIsRoundedForTheHeadsInputs) {
  std::vector<float> x(256 * kHidden);
  for (size_t i = 0; i < x.size(); ++i)  // neighbours that go together
    x[i] = std::sin(0.37f * static_cast<float>(i)) +
           std::sin(0.021f * static_cast<float>(i * i % 997));
  Moments inputs;
  inputs.Add({x.data(), 256, kHidden}, nullptr);
  EXPECT_LT(ErrorAtTheHead(inputs, &inputs), 0.7 * ErrorAtTheHead(inputs, nullptr));
}

TEST(QuantizeUnit, BlocksThatDoNotDivideTheColumnsGetNarrower) {
  Graph unit = Make(kLayer);  // 64 columns
  ASSERT_TRUE(QuantizeUnit(unit, Args("w4-asym128", nullptr)));
  EXPECT_EQ(unit.value(unit.Find("q.weight")).constant->view().scheme, Scheme::kW4Affine64);
}

TEST(QuantizeUnit, KeepsStoredBlocksBitForBit) {
  Graph unit = Make(kHead);
  Value& weight = unit.value(unit.Find("lm_head.weight"));
  const FloatMatrix values{weight.constant->floats(), 50, kHidden, "w"};
  weight.constant = Pack(*QuantizeWeights(values, Scheme::kW4Affine32));
  const std::byte* before = weight.constant->view().bytes.data();
  const Result<UnitReport> report = QuantizeUnit(unit, Args("w4-exact", nullptr));
  ASSERT_TRUE(report);
  EXPECT_EQ(weight.constant->view().bytes.data(), before);
  EXPECT_EQ(weight.constant->view().scheme, Scheme::kW4Affine32);
  EXPECT_TRUE(report->weights[0].kept);
  EXPECT_FALSE(report->weights[0].snr_db);
}

// Stored values that are off by a thousandth from the packed ones: 20 log10(1000) = 60 dB.
TEST(QuantizeUnit, ReportsWhatKeepingStoredIntegersLost) {
  Graph unit = Make(kHead);
  Value& weight = unit.value(unit.Find("lm_head.weight"));
  const FloatMatrix values{weight.constant->floats(), 50, kHidden, "w"};
  weight.constant = Pack(*QuantizeWeights(values, Scheme::kW4Affine32));
  const Tensor packed = *weight.constant;
  QuantizeArgs args = Args("w4-exact", nullptr);
  args.stored_rows = [&packed](std::string_view name) -> RowReader {
    EXPECT_EQ(name, "lm_head.weight");
    return [&packed](int64_t first, std::span<float> out) -> Result<void> {
      DequantizeRows(packed.view(), first, std::ssize(out) / kHidden, out.data());
      for (float& value : out) value /= 1.001f;
      return {};
    };
  };
  const Result<UnitReport> report = QuantizeUnit(unit, args);
  ASSERT_TRUE(report);
  EXPECT_TRUE(report->weights[0].kept);
  ASSERT_TRUE(report->weights[0].snr_db.has_value());
  EXPECT_NEAR(*report->weights[0].snr_db, 60, 0.01);
}

TEST(QuantizeUnit, NamesAValueWithoutARange) {
  ActivationRanges ranges = Calibrate();
  ranges.erase("attn");
  Graph unit = Make(kLayer);
  const Result<UnitReport> report = QuantizeUnit(unit, Args("w8a16", &ranges));
  ASSERT_FALSE(report);
  EXPECT_NE(report.error().what.find("'attn'"), std::string::npos);
}

TEST(QuantizeUnit, ReportsWhatItDid) {
  const ActivationRanges ranges = Calibrate();
  Graph unit = Make(kLayer);
  const Result<UnitReport> report = QuantizeUnit(unit, Args("w4a16", &ranges));
  ASSERT_TRUE(report);
  const Json json = ToJson(*report);
  EXPECT_EQ(json["weights"].size(), 4u);
  EXPECT_GT(json["weights"][0]["snr_db"].get<double>(), 15);
  EXPECT_EQ(json["values"][0]["name"], "embed.out");
  EXPECT_FALSE(json["values"][0]["constant"].get<bool>());
}

}  // namespace
}  // namespace hexlane
