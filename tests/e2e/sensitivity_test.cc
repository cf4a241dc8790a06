// hexlane sensitivity.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <map>

#include "models.h"

namespace hexlane::e2e {
namespace {

using testing::HasSubstr;
using testing::Not;

class Sensitivity : public ScratchTest {
 protected:
  // Made by tests/data/eval/make_sensitivity.py, which rounds and runs the tiny checkpoint in
  // NumPy.
  static Json Golden() { return ReadJsonFile(TestData() / "eval/sensitivity.json"); }

  std::string Text() const {
    WriteFile(scratch() / "text", Golden()["text"].get<std::string>());
    return Path("text");
  }
  Json Run(const std::string& model, Arguments more) const {
    Arguments arguments = {"sensitivity", model, "--text", Text(), "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const CliResult result = RunCli(arguments);
    EXPECT_EQ(result.exit_code, 0) << result.err << result.out;
    return result.json();
  }
  // Figures agree with NumPy's. Logits of float32 are within 2e-4 of float64's
  // (tests/data/README.md), errors of the least damaged matrices about 0.01: a few per cent.
  static void ExpectFigures(const Json& ranking, const Json& golden) {
    ASSERT_EQ(ranking.size(), golden.size());
    for (const Json& entry : ranking) {
      const Json& want = golden[entry["name"].get<std::string>()];
      EXPECT_TRUE(entry["measured"].get<bool>());
      EXPECT_NEAR(entry["kl"].get<double>() / want["kl"].get<double>(), 1, 0.03) << entry;
      EXPECT_NEAR(entry["snr_db"].get<double>(), want["snr_db"].get<double>(), 0.2) << entry;
    }
    for (size_t i = 1; i < ranking.size(); ++i) EXPECT_GE(ranking[i - 1]["kl"], ranking[i]["kl"]);
  }
  // Layer 1 with outliers: every thirty-second channel that its norms give is a thirty-second of
  // what it was, and the columns that multiply it 32 times as large. The model is the same, but of
  // each block of 32 weights the others are lost in 4-bit steps. In NumPy the layer alone then
  // costs 2.1 nats at 4 bits and 0.1 at 8, layer 0 0.97 at 4.
  std::string FragileModel() const {
    const std::string model = CopyTinyModel("fragile");
    EditSafetensors(scratch() / "fragile/model.safetensors", [](Json& header, std::string& data) {
      const auto scale = [&](const std::string& name, float by) {
        const Json& offsets = header["model.layers.1." + name + ".weight"]["data_offsets"];
        constexpr size_t kStep = 32 * sizeof(uint16_t);  // rows are a multiple of 32 long
        for (size_t at = offsets[0]; at < offsets[1].get<size_t>(); at += kStep)
          ScaleBf16(data.data() + at, by);
      };
      for (const char* norm : {"input_layernorm", "post_attention_layernorm"})
        scale(norm, 1.0f / 32);
      for (const char* matrix : {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj",
                                 "mlp.gate_proj", "mlp.up_proj"})
        scale(matrix, 32);
    });
    return model;
  }
  // A bfloat16 is the upper half of a float32. Exact for powers of two.
  static void ScaleBf16(char* at, float by) {
    uint16_t half = 0;
    std::memcpy(&half, at, sizeof half);
    const float scaled = std::bit_cast<float>(uint32_t{half} << 16) * by;
    half = static_cast<uint16_t>(std::bit_cast<uint32_t>(scaled) >> 16);
    std::memcpy(at, &half, sizeof half);
  }
  double Divergence(const std::string& package) const {
    const CliResult eval = RunCli({"eval", package, "--stage", "quant", "--against", "float",
                                   "--text", Text(), "--window", "64", "--json"});
    EXPECT_EQ(eval.exit_code, 0) << eval.err;
    return eval.json()["against"]["kl_mean"];
  }
};

TEST_F(Sensitivity, FiguresOfEveryMatrixAreNumPys) {
  const Json got = Run(CopyTinyModel("model"), {"--quant", "w8a16"});
  EXPECT_EQ(got["tokens"], 128);
  ExpectFigures(got["ranking"], Golden()["matrices"]);
}

TEST_F(Sensitivity, FiguresOfEveryLayerAreNumPys) {
  const Json got = Run(CopyTinyModel("model"), {"--quant", "w8a16", "--by", "layer"});
  ExpectFigures(got["ranking"], Golden()["layers"]);
}

TEST_F(Sensitivity, EstimatesAddUpToTheMeasuredLayer) {
  const std::string model = CopyTinyModel("model");
  const Json got = Run(model, {"--quant", "w8a16", "--measured", "0"});
  std::map<std::string, double> sums;
  for (const Json& entry : got["ranking"]) {
    const std::string name = entry["name"];
    if (name.starts_with("layers.")) {
      EXPECT_FALSE(entry["measured"].get<bool>());
      sums[name.substr(0, 8)] += entry["kl"].get<double>();
    }
  }
  for (const auto& [layer, sum] : sums)
    EXPECT_NEAR(sum / Golden()["layers"][layer]["kl"].get<double>(), 1, 0.03) << layer;
}

TEST_F(Sensitivity, FindsThePlantedFragileLayerAndRepairsIt) {
  const std::string model = FragileModel();
  const Json plain = Run(CopyTinyModel("model"), {"--by", "layer"});
  EXPECT_NE(plain["ranking"][0]["name"], "layers.1");
  // Enough for one of the two layers at 8 bits.
  const Json got = Run(model, {"--by", "layer", "--max-bits", "6.6", "-o", Path("mix.json")});
  EXPECT_EQ(got["ranking"][0]["name"], "layers.1");
  EXPECT_LE(got["mixed"]["bits_per_weight"], 6.6);
  const Json mix = ReadJsonFile(scratch() / "mix.json");
  EXPECT_THAT(mix["rules"].dump(),
              HasSubstr(R"({"pattern":"layers.1.gate_proj","weights":"w8-channel"})"));
  for (const Json& rule : mix["rules"]) {
    if (rule["pattern"].get<std::string>().starts_with("layers.0")) {
      EXPECT_THAT(rule["weights"], Not("w8-channel")) << rule;
    }
  }
  Arguments convert = {"convert", model, "-o", Path("uniform"), "--quant", "w4a16"};
  for (const std::string& option : TinyOptions()) convert.push_back(option);
  ASSERT_EQ(RunCli(convert).exit_code, 0);
  convert[3] = Path("mixed");
  convert.insert(convert.end(), {"--overrides", Path("mix.json")});
  const CliResult mixed = RunCli(convert);
  ASSERT_EQ(mixed.exit_code, 0) << mixed.err;
  EXPECT_LT(Divergence(Path("mixed")), 0.6 * Divergence(Path("uniform")));
}

TEST_F(Sensitivity, MeetsALimitOfTheLogPerplexity) {
  const std::string model = CopyTinyModel("model");
  double bits = 1e9;
  for (const double limit : {0.05, 0.5}) {
    const Json got = Run(model, {"--max-ppl-increase", fmt::format("{}", limit)});
    EXPECT_LE(got["mixed"]["log_perplexity_increase"], limit);
    EXPECT_LE(got["mixed"]["bits_per_weight"], bits);
    bits = got["mixed"]["bits_per_weight"];
  }
}

TEST_F(Sensitivity, ChoosesFormsThatTheNpuTakesAndMeasuresTheAlgorithm) {
  const std::string model = CopyTinyModel("model");
  const auto mix = [&](const std::string& quant, const std::string& algorithm) {
    const Json got = Run(model, {"--quant", quant, "--algorithm", algorithm, "--soc", "SM8650",
                                 "--max-bits", "5.1", "-o", Path(quant)});
    EXPECT_LE(got["mixed"]["bits_per_weight"], 5.1);
    return got;
  };
  const Json rounded = mix("w4a16", "rtn"), fitted = mix("w4a16", "search+gptq");
  EXPECT_LT(fitted["uniform"]["kl"], 0.9 * rounded["uniform"]["kl"].get<double>());
  // Blocks with minima need float16 activations.
  EXPECT_THAT(ReadJsonFile(scratch() / "w4a16").dump(), Not(HasSubstr("affine")));
  mix("w4-asym", "search");
  EXPECT_THAT(ReadJsonFile(scratch() / "w4-asym")["rules"].dump(), HasSubstr("affine"));
}

TEST_F(Sensitivity, RefusesWhatCannotBe) {
  const std::string model = CopyTinyModel("model");
  const auto refused = [&](Arguments more, int code, const std::vector<std::string>& parts) {
    Arguments arguments = {"sensitivity", model};
    arguments.insert(arguments.end(), more.begin(), more.end());
    ExpectRefused(RunCli(arguments), code, parts);
  };
  refused({"--quant", "f16"}, 2, {"f16", "w4a16"});
  refused({"--quant", "w5"}, 2, {"w5", "w4a16"});
  refused({"-o", Path("mix.json")}, 2, {"--max-bits"});
  refused({"--max-bits", "5", "--max-ppl-increase", "1%"}, 2, {"two budgets"});
  refused({"--max-ppl-increase", "some"}, 2, {"'some'", "1%"});
  refused({"--max-bits", "2"}, 3, {"3.", "--max-bits 2"});
  refused({"--algorithm", "rotate+gptq"}, 2, {"rotate+gptq", "search"});
  refused({"--soc", "SM1"}, 2, {"SM1", "SM8650"});
  refused({"--text", Path("none")}, 3, {"none"});
}

}  // namespace
}  // namespace hexlane::e2e
