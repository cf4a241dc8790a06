#include "quant/overrides.h"

#include <gmock/gmock.h>

#include <array>

#include "base/json.h"
#include "quant/algorithm/small_decoder.h"
#include "quant/quantize_unit.h"

namespace hexlane {
namespace {

using ::testing::HasSubstr;

OverridableTensors Tensors(bool splits_head = false) {
  OverridableTensors tensors;
  for (const Graph& unit : testing::SmallDecoder()) tensors.AddUnit(unit, splits_head);
  return tensors;
}

Result<Overrides> Settled(std::string_view rules, bool splits_head = false) {
  const auto file = ParseOverrides(fmt::format(R"({{"rules": {}}})", rules), "mix.json");
  if (!file) return Failure(file.error());
  return Overrides::Settle(*file, Tensors(splits_head));
}

Overrides Good(std::string_view rules, bool splits_head = false) {
  Result<Overrides> settled = Settled(rules, splits_head);
  if (!settled) ADD_FAILURE() << settled.error().ToString();
  return settled ? *std::move(settled) : Overrides();
}

std::string ErrorOf(std::string_view text) {
  const auto file = ParseOverrides(text, "mix.json");
  return file ? "no error" : file.error().ToString();
}

TEST(Overrides, PatternsAreGlobs) {
  EXPECT_TRUE(MatchesPattern("layers.*.down_proj", "layers.12.down_proj"));
  EXPECT_TRUE(MatchesPattern("layers.?.k", "layers.3.k"));
  EXPECT_TRUE(MatchesPattern("*", ""));
  EXPECT_TRUE(MatchesPattern("*a*b", "aXbaYb"));
  EXPECT_TRUE(MatchesPattern("lm_head", "lm_head"));
  EXPECT_FALSE(MatchesPattern("layers.?.k", "layers.13.k"));
  EXPECT_FALSE(MatchesPattern("layers.*.down", "layers.1.down_proj"));
  EXPECT_FALSE(MatchesPattern("*a*b", "abc"));
  EXPECT_FALSE(MatchesPattern("", "a"));
}

TEST(Overrides, LaterRulesWin) {
  const Overrides overrides = Good(
      R"([{"pattern": "*", "weights": "w8-channel", "algorithm": "off"},
          {"pattern": "up", "weights": "w4-lpbq32"},
          {"pattern": "o", "weights": "f16", "activations": "f16"}])");
  EXPECT_EQ(overrides.OfMatrix("q.weight")->weights, Scheme::kW8Channel);
  EXPECT_EQ(overrides.OfMatrix("q.weight")->rule, "mix.json: rules[0]");
  EXPECT_EQ(overrides.OfMatrix("up.weight")->weights, Scheme::kW4Lpbq32);
  EXPECT_EQ(overrides.OfMatrix("up.weight")->algorithm, false);
  EXPECT_EQ(overrides.OfMatrix("up.weight")->rule, "mix.json: rules[1]");
  EXPECT_EQ(overrides.OfMatrix("o.weight")->weights, Scheme::kPlain);
  EXPECT_EQ(overrides.OfValue("o")->activations, DType::kF16);
  EXPECT_EQ(overrides.OfValue("q"), nullptr);
}

TEST(Overrides, ATiedHeadIsTheEmbeddingTableUnlessItIsSplitOff) {
  const std::string_view rules = R"([{"pattern": "embed", "weights": "w4-lpbq32"},
                                     {"pattern": "lm_head", "weights": "w8-channel"}])";
  const Overrides tied = Good(rules), split = Good(rules, true);
  EXPECT_EQ(tied.OfMatrix("embed.weight")->weights, Scheme::kW8Channel);
  EXPECT_EQ(tied.OfMatrix("lm_head.weight"), nullptr);
  EXPECT_EQ(split.OfMatrix("embed.weight")->weights, Scheme::kW4Lpbq32);
  EXPECT_EQ(split.OfMatrix("lm_head.weight")->weights, Scheme::kW8Channel);
}

TEST(Overrides, ARuleAboutNothingNamesWhatIsLikeIt) {
  const auto weights = Settled(R"([{"pattern": "downproj", "weights": "w8-channel"}])");
  ASSERT_FALSE(weights);
  EXPECT_EQ(weights.error().where, "mix.json: rules[0]");
  EXPECT_THAT(weights.error().ToString(), HasSubstr("'downproj'"));
  EXPECT_THAT(weights.error().want, HasSubstr("down"));
  const auto vector = Settled(R"([{"pattern": "o.bias", "weights": "w8-channel"}])");
  EXPECT_FALSE(vector) << "a bias has no other form";
  const auto value = Settled(R"([{"pattern": "past_k", "min": -1, "max": 1}])");
  ASSERT_FALSE(value) << "a cache follows what is appended to it";
  EXPECT_THAT(value.error().ToString(), HasSubstr("value"));
}

TEST(Overrides, BadRulesAreNamed) {
  const auto rule = [](std::string_view fields) {
    return ErrorOf(fmt::format(R"({{"rules": [{{"pattern": "*", {}}}]}})", fields));
  };
  EXPECT_THAT(rule(R"("weights": "w5")"), HasSubstr("w4-lpbq32"));
  EXPECT_THAT(rule(R"("weights": "w5")"), HasSubstr("mix.json: rules[0]"));
  EXPECT_THAT(rule(R"("activations": "i8")"), HasSubstr("f16, u16, u8"));
  EXPECT_THAT(rule(R"("algorithm": "gptq")"), HasSubstr("on, off"));
  EXPECT_THAT(rule(R"("min": 1, "max": 2)"), HasSubstr("min ≤ 0 ≤ max"));
  EXPECT_THAT(rule(R"("min": -1)"), HasSubstr("max"));
  EXPECT_THAT(rule(R"("weight": "f16")"), HasSubstr("no field 'weight'"));
  EXPECT_THAT(ErrorOf(R"({"rules": [{"pattern": "*"}]})"), HasSubstr("says nothing"));
  EXPECT_THAT(ErrorOf(R"({"rules": 3})"), HasSubstr("rules"));
  EXPECT_THAT(ErrorOf(R"({"quant": "w9", "rules": []})"), HasSubstr("w4a16"));
  EXPECT_THAT(ErrorOf("{"), HasSubstr("mix.json"));
  EXPECT_THAT(ErrorOf("[]"), HasSubstr("rules"));
}

TEST(Overrides, AFileIsOfOneForm) {
  const std::string_view rules = R"("rules": [{"pattern": "up", "weights": "f16"}])";
  const auto with = [&](std::string_view fields) {
    return ErrorOf(fmt::format("{{{}, {}}}", rules, fields));
  };
  EXPECT_EQ(with(R"("quant": "w4a16")"), "no error");
  EXPECT_THAT(with(R"("weight_width": 4, "activation_width": 16)"), HasSubstr("two forms"));
  EXPECT_THAT(with(R"("param_encodings": {})"), HasSubstr("two forms"));
  EXPECT_THAT(with(R"("sceme": "w4a16")"),
              AllOf(HasSubstr("no field 'sceme'"), HasSubstr("quant, rules")));
  const std::string_view widths = R"("weight_width": 4, "activation_width": 16)";
  EXPECT_THAT(ErrorOf(fmt::format(R"({{{}, "quant": "w8a16"}})", widths)), HasSubstr("two forms"));
  EXPECT_THAT(ErrorOf(fmt::format(R"({{{}, "bias_width": 32}})", widths)),
              AllOf(HasSubstr("no field 'bias_width'"), HasSubstr("weight_width")));
}

// Of the weight up [96, 48] with so many scales.
std::string ErrorOfScales(size_t count, std::string_view type, int64_t block) {
  Json entry = {{"name", "up.weight"}, {"dtype", "INT"}, {"bw", 8}, {"enc_type", type}};
  if (block > 0) entry["block_size"] = block;
  if (type == "LPBQ") entry["compressed_bw"] = 4;
  entry["scale"] = std::vector<double>(count, 0.5);
  entry["offset"] = std::vector<int>(count, -128);
  const Json file = {{"version", "1.0.0"}, {"param_encodings", Json::array({entry})}};
  const auto settled = Overrides::Settle(*ParseOverrides(file.dump(), "x.encodings"), Tensors());
  return settled ? "no error" : settled.error().ToString();
}

TEST(Overrides, EncodingsHaveTheScalesOfTheMatrix) {
  EXPECT_EQ(ErrorOfScales(1, "PER_TENSOR", 0), "no error");
  EXPECT_EQ(ErrorOfScales(1, "PER_CHANNEL", 0), "no error");
  EXPECT_EQ(ErrorOfScales(96, "PER_CHANNEL", 0), "no error");
  EXPECT_EQ(ErrorOfScales(96, "LPBQ", 16), "no error");
  EXPECT_EQ(ErrorOfScales(288, "PER_BLOCK", 16), "no error");
  EXPECT_THAT(ErrorOfScales(48, "PER_CHANNEL", 0),
              AllOf(HasSubstr("'up.weight'"), HasSubstr("want 1 or 96, got 48")));
  EXPECT_THAT(ErrorOfScales(288, "LPBQ", 16), HasSubstr("want 1 or 96, got 288"));
  EXPECT_THAT(ErrorOfScales(1, "PER_BLOCK", 16), HasSubstr("want 288, got 1"));
  EXPECT_THAT(ErrorOfScales(96, "LPBQ", 32),
              AllOf(HasSubstr("'up.weight'"), HasSubstr("divides 48"), HasSubstr("got 32")));
}

TEST(Overrides, WidthsChooseTheScheme) {
  const auto scheme = [](int weights, int activations) {
    const std::string text =
        fmt::format(R"({{"weight_width": {}, "activation_width": {}}})", weights, activations);
    const auto file = ParseOverrides(text, "widths.json");
    return file ? file->scheme : file.error().ToString();
  };
  EXPECT_EQ(scheme(4, 16), "w4a16");
  EXPECT_EQ(scheme(8, 16), "w8a16");
  EXPECT_EQ(scheme(16, 16), "f16");
  EXPECT_THAT(scheme(5, 16), HasSubstr("8 and 16, 4 and 16"));
}

TEST(Overrides, AreTheSameForRulesThatComeToTheSame) {
  const Json one = ToJson(Good(R"([{"pattern": "u?", "weights": "w8-channel"}])"));
  const Json two = ToJson(Good(R"([{"pattern": "up", "weights": "f16"},
                                   {"pattern": "up.weight", "weights": "w8-channel"}])"));
  EXPECT_EQ(one, two);
  EXPECT_NE(one, ToJson(Good(R"([{"pattern": "gate", "weights": "w8-channel"}])")));
}

// The layer quantised by w4a16 with `rules`, with ranges that calibration saw on it.
struct QuantisedLayer {
  explicit QuantisedLayer(std::string_view rules, std::string_view scheme = "w4a16") {
    std::vector<Graph> units = testing::SmallDecoder();
    Calibrator calibrator({{3, 1, 4, 15, 9, 2, 6, 5, 35, 8, 9, 7}});
    EXPECT_TRUE(calibrator.Advance(units[0], false));
    EXPECT_TRUE(calibrator.Advance(units[1], false));
    ranges = calibrator.ranges();
    QuantOptions options{.scheme = *FindQuantScheme(scheme)};
    options.overrides = Good(rules);
    graph = std::move(units[1]);
    Result<UnitReport> made = QuantizeUnit(graph, {.options = options, .ranges = &ranges});
    if (made)
      report = *std::move(made);
    else
      ADD_FAILURE() << made.error().ToString();
  }
  const Encoding& encoding(std::string_view name) const {
    return *graph.value(graph.Find(name)).encoding;
  }
  Scheme scheme(std::string_view name) const {
    return graph.value(graph.Find(name)).constant->view().scheme;
  }

  Graph graph{"none"};
  ActivationRanges ranges;
  UnitReport report;
};

TEST(Overrides, QuantizeUnitTakesThemAndReportsTheRule) {
  const QuantisedLayer layer(R"([{"pattern": "down", "weights": "w8-channel"},
                                 {"pattern": "o", "weights": "f16", "activations": "f16"},
                                 {"pattern": "gate", "min": -3, "max": 5}])");
  EXPECT_EQ(layer.scheme("down.weight"), Scheme::kW8Channel);
  EXPECT_EQ(layer.scheme("up.weight"), Scheme::kW4Lpbq16) << "32 do not divide its columns";
  EXPECT_EQ(layer.scheme("o.weight"), Scheme::kPlain);
  EXPECT_EQ(layer.encoding("o").dtype, DType::kF16);
  EXPECT_EQ(layer.encoding("gate"), AsymmetricEncoding({-3, 5}, DType::kU16));
  const auto weight = std::ranges::find(layer.report.weights, "down.weight", &WeightReport::name);
  EXPECT_EQ(weight->rule, "mix.json: rules[0]");
  const auto value = std::ranges::find(layer.report.values, "gate", &ValueReport::name);
  EXPECT_EQ(value->rule, "mix.json: rules[2]");
  EXPECT_EQ(layer.report.weights[0].rule, "");
}

TEST(Overrides, ACacheFollowsTheValueThatIsAppendedToIt) {
  const QuantisedLayer layer(R"([{"pattern": "k", "activations": "u8"},
                                 {"pattern": "v", "min": -4, "max": 2}])");
  EXPECT_EQ(layer.encoding("k").dtype, DType::kU8);
  EXPECT_EQ(layer.encoding("k").offset, -128);
  EXPECT_EQ(layer.encoding("past_k"), layer.encoding("k"));
  // The lowest of the 2^16 steps stands for -4.
  EXPECT_FLOAT_EQ(layer.encoding("v").scale * -32768, -4);
  EXPECT_EQ(layer.encoding("v").offset, -32768);
  EXPECT_EQ(layer.encoding("past_v"), layer.encoding("v"));
}

TEST(Overrides, IntegersInAFloatSchemeNeedCalibrationOrARange) {
  EXPECT_TRUE(Good(R"([{"pattern": "up", "activations": "u16"}])").needs_calibration());
  EXPECT_FALSE(Good(R"([{"pattern": "up", "activations": "f16"}])").needs_calibration());
  const std::string_view fixed =
      R"([{"pattern": "up", "activations": "u16", "min": -1, "max": 1}])";
  EXPECT_FALSE(Good(fixed).needs_calibration());
  const QuantisedLayer layer(R"([{"pattern": "up", "activations": "u16"}])", "f16");
  EXPECT_EQ(layer.encoding("up"),
            AsymmetricEncoding(layer.ranges.at("up").with_zero(), DType::kU16));
  EXPECT_EQ(layer.encoding("gate").dtype, DType::kF16);
}

TEST(Overrides, TheAlgorithmIsOffForAMatrixThatSaysSo) {
  std::vector<Graph> units = testing::SmallDecoder();
  QuantOptions options{.scheme = *FindQuantScheme("w8a16")};
  options.algorithm.search = true;
  options.overrides = Good(R"([{"pattern": "*", "algorithm": "off"}])");
  Calibrator calibrator({{3, 1, 4, 15}});
  ASSERT_TRUE(calibrator.Advance(units[0], false));
  ASSERT_TRUE(calibrator.Advance(units[1], false));
  const QuantizeArgs args{.options = options, .ranges = &calibrator.ranges()};
  EXPECT_TRUE(QuantizeUnit(units[1], args)) << "no moments are asked for";
  options.overrides = Good(R"([{"pattern": "down", "algorithm": "off"}])");
  Graph again = testing::SmallDecoder()[1];
  EXPECT_FALSE(QuantizeUnit(again, {.options = options, .ranges = &calibrator.ranges()}));
}

// Of the embedding table of SmallDecoder with 4 bits per channel, and of the head, tied to it.
std::array<UnitReport, 2> VocabularyReports(bool searches, bool is_off) {
  std::vector<Graph> units = testing::SmallDecoder();
  QuantOptions options{.scheme = *FindQuantScheme("w4c-f16")};
  options.algorithm.search = searches;
  options.overrides = Good(is_off ? R"([{"pattern": "embed", "weights": "w4-channel"},
                                        {"pattern": "embed", "algorithm": "off"}])"
                                  : R"([{"pattern": "embed", "weights": "w4-channel"}])");
  std::array<UnitReport, 2> reports;
  reports[0] = *QuantizeUnit(units[0], {.options = options});
  reports[1] = *QuantizeUnit(units[2], {.options = options});
  const std::string_view weight = "embed.weight";
  EXPECT_TRUE(std::ranges::equal(units[0].value(units[0].Find(weight)).constant->view().bytes,
                                 units[2].value(units[2].Find(weight)).constant->view().bytes));
  return reports;
}

TEST(Overrides, SearchOfTheVocabularysScalesNeedsNoInputsAndKeepsTheHeadTied) {
  const double rounded = *VocabularyReports(false, false)[0].weights[0].snr_db;
  EXPECT_GT(*VocabularyReports(true, false)[0].weights[0].snr_db, rounded + 0.1);
  EXPECT_EQ(VocabularyReports(true, true)[0].weights[0].snr_db, rounded);
}

}  // namespace
}  // namespace hexlane
