// hexlane convert --overrides, hexlane export encodings.
#include <gmock/gmock.h>

#include <cmath>

#include "models.h"

namespace hexlane::e2e {
namespace {

using testing::HasSubstr;

class OverridesFile : public ScratchTest {
 protected:
  std::string File(std::string_view json) const {
    WriteFile(scratch() / "mix.json", json);
    return Path("mix.json");
  }
  CliResult Convert(const std::string& overrides, Arguments more = {}) const {
    if (!fs::exists(scratch() / "model")) CopyTinyModel("model");
    Arguments arguments = {"convert",     Path("model"), "-o",    Path("package"),
                           "--overrides", overrides,     "--json"};
    for (const std::string& option : TinyOptions()) more.push_back(option);
    arguments.insert(arguments.end(), more.begin(), more.end());
    return RunCli(arguments);
  }
  // Of report.json, by name.
  Json Reported(const std::string& list, const std::string& name) const {
    const Json report = ReadJsonFile(scratch() / "package/report.json");
    for (const Json& unit : report["units"])
      for (const Json& entry : unit[list])
        if (entry["name"] == name) return entry;
    ADD_FAILURE() << name << " is not in the report";
    return {};
  }
};

TEST_F(OverridesFile, GivesMatricesAndValuesTheirOwnForm) {
  const std::string file = File(R"({"quant": "w4a16", "rules": [
      {"pattern": "layers.*.down_proj", "weights": "w8-channel"},
      {"pattern": "model.layers.1.self_attn.o_proj.weight", "weights": "f16"},
      {"pattern": "layers.1.o_proj", "activations": "f16"},
      {"pattern": "layers.0.v_proj", "min": -2, "max": 2},
      {"pattern": "lm_head", "weights": "w4-lpbq32"}]})");
  const CliResult result = Convert(file);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.json()["scheme"], "w4a16");
  EXPECT_EQ(Reported("weights", "layers.0.down_proj.weight")["scheme"], "w8-channel");
  EXPECT_EQ(Reported("weights", "layers.0.down_proj.weight")["rule"], file + ": rules[0]");
  EXPECT_EQ(Reported("weights", "layers.1.o_proj.weight")["scheme"], "plain");
  EXPECT_EQ(Reported("values", "layers.1.o_proj")["dtype"], "f16");
  EXPECT_EQ(Reported("weights", "lm_head.weight")["scheme"], "w4-lpbq32");
  EXPECT_EQ(Reported("weights", "embed.weight")["scheme"], "w8-channel");
  EXPECT_FALSE(Reported("weights", "embed.weight").contains("rule"));
  // 2 / 32767, symmetric: what attention takes.
  EXPECT_NEAR(Reported("values", "layers.0.v")["scale"], 2.0 / 32767, 1e-9);
  EXPECT_EQ(RunCli({"run", Path("package"), "-p", "One", "-n", "2"}).exit_code, 0);
}

TEST_F(OverridesFile, AnotherFileIsAnotherConversion) {
  const std::string file = File(R"({"rules": [{"pattern": "lm_head", "weights": "w8-channel"}]})");
  ASSERT_EQ(Convert(file, {"--quant", "w4a16"}).exit_code, 0);
  EXPECT_TRUE(Convert(file, {"--quant", "w4a16"}).json()["up_to_date"].get<bool>());
  File(R"({"rules": [{"pattern": "layers.0.up_proj", "weights": "w8-channel"}]})");
  const CliResult changed = Convert(file, {"--quant", "w4a16"});
  ASSERT_EQ(changed.exit_code, 0) << changed.err;
  EXPECT_FALSE(changed.json()["up_to_date"].get<bool>());
  EXPECT_EQ(Reported("weights", "layers.0.up_proj.weight")["scheme"], "w8-channel");
}

TEST_F(OverridesFile, APlanCarriesTheFile) {
  const std::string file = File(R"({"rules": [{"pattern": "lm_head", "weights": "w8-channel"}]})");
  ASSERT_EQ(Convert(file, {"--quant", "w4a16", "--plan", Path("jobs.json")}).exit_code, 0);
  const Json job = ReadJsonFile(scratch() / "jobs.json")["jobs"][0];
  EXPECT_THAT(job["command"].dump(), HasSubstr("--overrides\",\"" + file));
  EXPECT_THAT(job["inputs"].dump(), HasSubstr(file));
}

TEST_F(OverridesFile, IsRefusedByRuleAndWithTheNearestThatWorks) {
  const auto refused = [&](std::string_view json, const std::vector<std::string>& parts,
                           const Arguments& more = {"--quant", "w4a16"}) {
    const CliResult result = Convert(File(json), more);
    EXPECT_NE(result.exit_code, 0) << json;
    for (const std::string& part : parts) EXPECT_THAT(result.err, HasSubstr(part)) << json;
    EXPECT_FALSE(fs::exists(scratch() / "package"));
  };
  refused(R"({"rules": [{"pattern": "layers.*.dwn_proj", "weights": "f16"}]})",
          {"mix.json: rules[0]", "layers.0.down_proj"});
  refused(R"({"rules": [{"pattern": "layers.0.out", "min": -1, "max": 1}]})",
          {"'layers.0.out'", "float16", "u16"});
  refused(R"({"quant": "w8a16", "rules": []})", {"--quant w4a16", "w8a16"});
  const Arguments npu = {"--quant", "w4a16", "--soc", "SM8650"};
  // HTP multiplies float16 weights by float16 values only.
  refused(R"({"rules": [{"pattern": "layers.1.up_proj", "weights": "f16"}]})",
          {"SM8650", "layers.1.up_proj", "rules[0]", R"("activations": "f16")"}, npu);
  refused(R"({"rules": [{"pattern": "layers.1.q", "activations": "f16"}]})",
          {"SM8650", "layers.1.", "rules[0]"}, npu);
}

TEST_F(OverridesFile, ExportedEncodingsMakeTheSameModelAgain) {
  const std::string file =
      File(R"({"rules": [{"pattern": "layers.0.up_proj", "weights": "w8-channel"}]})");
  ASSERT_EQ(Convert(file, {"--quant", "w4a16"}).exit_code, 0);
  const Json before = ReadJsonFile(scratch() / "package/report.json")["units"];
  const CliResult exported =
      RunCli({"export", "encodings", Path("package"), "-o", Path("encodings.json")});
  ASSERT_EQ(exported.exit_code, 0) << exported.err;
  EXPECT_EQ(ReadJsonFile(scratch() / "encodings.json")["version"], "1.0.0");
  const CliResult again = Convert(Path("encodings.json"), {"--quant", "w8a16"});
  ASSERT_EQ(again.exit_code, 0) << again.err;
  const Json after = ReadJsonFile(scratch() / "package/report.json")["units"];
  ASSERT_EQ(after.size(), before.size());
  for (size_t unit = 0; unit < before.size(); ++unit) {
    for (size_t i = 0; i < before[unit]["weights"].size(); ++i) {
      EXPECT_EQ(after[unit]["weights"][i]["scheme"], before[unit]["weights"][i]["scheme"]);
      EXPECT_EQ(after[unit]["weights"][i]["snr_db"], before[unit]["weights"][i]["snr_db"]);
    }
    for (size_t i = 0; i < before[unit]["values"].size(); ++i) {
      const Json &want = before[unit]["values"][i], &got = after[unit]["values"][i];
      EXPECT_EQ(got["dtype"], want["dtype"]) << want["name"];
      if (!want.contains("scale")) continue;
      EXPECT_EQ(got["offset"], want["offset"]) << want["name"];
      const double scale = want["scale"];
      EXPECT_NEAR(got["scale"], scale, 1e-6 * scale) << want["name"];  // ends as float32
    }
  }
}

}  // namespace
}  // namespace hexlane::e2e
