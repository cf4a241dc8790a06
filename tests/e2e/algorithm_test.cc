// hexlane convert --algorithm: what every algorithm makes is a package like any other, of every
// family of models.
#include <gmock/gmock.h>

#include "models.h"

namespace hexlane::e2e {
namespace {

using testing::HasSubstr;

class Algorithms : public ScratchTest {
 protected:
  Json Convert(const std::string& model, const std::string& output,
               const Arguments& options) const {
    Arguments arguments = {"convert", model, "-o", output, "--json"};
    for (const Arguments& more : {TinyOptions(), options})
      arguments.insert(arguments.end(), more.begin(), more.end());
    const CliResult result = RunCli(arguments);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.json();
  }

  // In dB, of the fake-quantised layers' output against the float model's.
  double LastLayerSnr(const std::string& model, const std::string& scheme,
                      const std::string& algorithm) const {
    const std::string package = Path(scheme + algorithm);
    Convert(
        model, package,
        {"--quant", scheme, "--algorithm", algorithm, "--calibration-tokens", "4096", "--force"});
    const CliResult result = RunCli({"verify", package, "--json"});
    EXPECT_LE(result.exit_code, 1) << result.err;  // 1: too large a loss
    const Json layers = result.json()["layers"];
    EXPECT_FALSE(layers.empty());
    double snr = 0;
    for (const Json& layer : layers)
      if (layer["stage"] == "quant" && layer["name"] != "logits") snr = layer["snr_db"];
    return snr;
  }

  // Converts and compares the CPU package with its meaning, and that with the float model. Random
  // weights suffer from 4 bits: what is right stays above 0.85, what is in another basis is near 0.
  void ExpectGood(const std::string& checkpoint, const std::string& algorithm) {
    SCOPED_TRACE(checkpoint + " " + algorithm);
    const std::string name = checkpoint + "-" + algorithm;
    const std::string model = CopyTinyModel(name + ".model", checkpoint);
    Convert(model, Path(name), {"--quant", "w4a16", "--algorithm", algorithm});
    const CliResult result =
        RunCli({"verify", Path(name), "--min-faithful", "0.98", "--max-loss", "0.85", "--json"});
    EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
  }
};

// Where hidden states are rotated, layers must be compared in the same basis.
TEST_F(Algorithms, GiveFaithfulPackagesThatAreNearTheFloatModel) {
  for (const char* algorithm : {"smooth", "awq+search+gptq", "rotate+search+gptq+bias"})
    ExpectGood("llama-gqa", algorithm);
}

TEST_F(Algorithms, KnowNoFamily) {
  for (const char* checkpoint : {"qwen2", "qwen3", "llama-tied-f32"})
    for (const char* algorithm : {"rtn", "awq+gptq", "rotate+gptq"})
      ExpectGood(checkpoint, algorithm);
}

// bench/families.sh prints the figures.
TEST_F(Algorithms, OfEverySchemeLoseLessThanRoundingOnOtherFamilies) {
  for (const char* checkpoint : {"qwen2", "qwen3"}) {
    const std::string model = CopyTinyModel(checkpoint, checkpoint);
    for (const char* scheme : {"w4c-a16", "w3a16", "w4a8", "w4-asym"}) {
      SCOPED_TRACE(std::string(checkpoint) + " " + scheme);
      const double rounded = LastLayerSnr(model, scheme, "rtn");
      EXPECT_GT(LastLayerSnr(model, scheme, "search+gptq"), rounded + 1) << "dB";
    }
  }
}

TEST_F(Algorithms, RoundATiedTableOfFewBitsOnceForLookUpAndHead) {
  const std::string model = CopyTinyModel("tied", "llama-tied-f32");
  WriteFile(scratch() / "rules", R"({"rules": [{"pattern": "embed", "weights": "w4-channel"}]})");
  Convert(model, Path("package"),
          {"--quant", "w8-f16", "--algorithm", "search+gptq", "--overrides", Path("rules")});
  const CliResult result = RunCli({"verify", Path("package"), "--max-loss", "0.85", "--json"});
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
  const Json units = ReadJsonFile(scratch() / "package/report.json")["units"];
  EXPECT_EQ(units.front()["weights"][0], units.back()["weights"][0]);
}

TEST_F(Algorithms, LoseLessThanRounding) {
  const std::string model = CopyTinyModel("model");
  const auto loss = [&](const std::string& algorithm) {
    Convert(model, Path(algorithm), {"--quant", "w4a16", "--algorithm", algorithm});
    const CliResult result = RunCli(
        {"verify", Path(algorithm), "--min-faithful", "0.98", "--max-loss", "0.85", "--json"});
    EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
    return 1 - result.json()["stages"][0]["cosine"].get<double>();
  };
  EXPECT_LT(loss("search+gptq"), 0.9 * loss("rtn"));
}

TEST_F(Algorithms, AreRefusedWhereTheyMeanNothing) {
  const std::string model = CopyTinyModel("model");
  const auto refused = [&](const Arguments& options, const std::string& part) {
    Arguments arguments = {"convert", model, "-o", Path("package")};
    arguments.insert(arguments.end(), options.begin(), options.end());
    ExpectRefused(RunCli(arguments), 2, {part});
  };
  refused({"--quant", "f16", "--algorithm", "gptq"}, "f16 rounds no weights to integers");
  refused({"--quant", "w4a16", "--algorithm", "awq+smooth"}, "two choices of the same factors");
  refused({"--quant", "w4a16", "--algorithm", "gptg"}, "algorithm 'gptg' is not known");
}

TEST_F(Algorithms, AreRecorded) {
  const std::string model = CopyTinyModel("model");
  Convert(model, Path("package"), {"--quant", "w4a16", "--algorithm", "gptq+search"});
  EXPECT_EQ(ReadJsonFile(scratch() / "package/manifest.json")["conversion"]["algorithm"],
            "search+gptq");
  const Json again = Convert(model, Path("package"), {"--quant", "w4a16", "--algorithm", "gptq"});
  EXPECT_EQ(again["up_to_date"], false);
}

}  // namespace
}  // namespace hexlane::e2e
