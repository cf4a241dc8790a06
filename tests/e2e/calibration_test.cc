// What convert calibrates on, and what convert, verify and eval warn of.
#include <gmock/gmock.h>

#include <algorithm>
#include <cstring>

#include "models.h"

namespace hexlane::e2e {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class Calibration : public ScratchTest {
 protected:
  Calibration() { model_ = CopyTinyModel("model"); }

  CliResult Convert(const Arguments& more, const std::string& package = "package") const {
    Arguments arguments = {"convert", model_,  "-o",      Path(package),
                           "--quant", "w8a16", "--force", "--json"};
    for (const Arguments& options : {TinyOptions(), more})
      arguments.insert(arguments.end(), options.begin(), options.end());
    return RunCli(arguments);
  }
  // What converting warns of.
  std::string Warnings(const Arguments& more) const {
    const CliResult result = Convert(more);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.json()["warnings"].dump();
  }
  std::string Write(const std::string& name, std::string_view text) const {
    fs::create_directories((scratch() / name).parent_path());
    WriteFile(scratch() / name, text);
    return Path(name);
  }
  // The bfloat16 numbers of a weight become those of `edit`.
  void EditWeight(const std::string& name, const std::function<void(std::span<uint16_t>)>& edit) {
    EditSafetensors(fs::path(model_) / "model.safetensors", [&](Json& json, std::string& data) {
      const std::vector<size_t> at = json[name]["data_offsets"];
      std::vector<uint16_t> numbers((at[1] - at[0]) / sizeof(uint16_t));
      std::memcpy(numbers.data(), &data[at[0]], at[1] - at[0]);
      edit(numbers);
      std::memcpy(&data[at[0]], numbers.data(), at[1] - at[0]);
    });
  }
  CliResult Verify() const { return RunCli({"verify", Path("package"), "--json"}); }

  std::string model_;
};

TEST_F(Calibration, EveryKindOfSourceMakesAPackage) {
  std::string varied;
  for (int i = 0; i < 600; ++i) varied += static_cast<char>('a' + i * 7 % 26);
  const fs::path data = TestData() / "calibration";
  Write("texts/one.txt", varied);
  Write("texts/deep/two.txt", varied);
  const std::string sources[] = {
      Write("text.txt", varied), Path("texts"),
      Write("ids.jsonl", "[72, 101, 108, 108, 111]\n{\"input_ids\": [1, 2, 3]}\n"),
      (data / "row_i4.npy").string(),
      Write("input_list.txt", "input_ids:=" + (data / "ids_i8.raw").string() + "\n")};
  for (const std::string& source : sources) {
    SCOPED_TRACE(source);
    EXPECT_THAT(Warnings({"--calibration", source}), Not(HasSubstr("samples")));
    EXPECT_FALSE(ReadJsonFile(scratch() / "package/report.json")["units"].empty());
  }
}

TEST_F(Calibration, ChatsAreRenderedByTheModelsTemplate) {
  const std::string chats = Write("chats.jsonl", R"([{"role": "user", "content": "Hello"}])"
                                                 "\n");
  ExpectRefused(Convert({"--calibration", chats}), 3, {"chats.jsonl: line 1", "chat template"});
  WriteFile(fs::path(model_) / "tokenizer_config.json",
            R"({"chat_template": "{% for m in messages %}{{ m.content }}{% endfor %}"})");
  Warnings({"--calibration", chats});
  const Json from_chat = ReadJsonFile(scratch() / "package/report.json")["units"];
  Warnings({"--calibration", (TestData() / "calibration/row_i4.npy").string()});  // "Hello"
  EXPECT_EQ(ReadJsonFile(scratch() / "package/report.json")["units"], from_chat);
}

TEST_F(Calibration, IdsAloneNeedNoTokenizer) {
  fs::remove(fs::path(model_) / "tokenizer.json");
  ExpectRefused(Convert({}), 3, {"calibrates on text"});
  Warnings({"--calibration", (TestData() / "calibration/rows_i8.npy").string()});
}

TEST_F(Calibration, SamplesBeyondTheBudgetAreCounted) {
  std::string lines;
  for (int i = 0; i < 9; ++i) lines += "[1, 2, 3, 4]\n";
  EXPECT_THAT(Warnings({"--calibration", Write("ids.jsonl", lines), "--calibration-tokens", "10"}),
              HasSubstr("first 3 of 9 samples"));
}

TEST_F(Calibration, TheDataAndTheObserverDecideWhetherAPackageIsUpToDate) {
  const std::string folder = Path("texts");
  Write("texts/a.txt", "Hello, world. ");
  Arguments arguments = {"convert", model_,   "-o",      Path("package"), "--calibration",
                         folder,    "--json", "--quant", "w8a16"};
  for (const std::string& option : TinyOptions()) arguments.push_back(option);
  EXPECT_FALSE(RunCli(arguments).json()["up_to_date"]);
  EXPECT_TRUE(RunCli(arguments).json()["up_to_date"]);
  Write("texts/b.txt", "Good morning.");
  EXPECT_FALSE(RunCli(arguments).json()["up_to_date"]);
  arguments.insert(arguments.end(), {"--observer", "mse"});
  EXPECT_FALSE(RunCli(arguments).json()["up_to_date"]);
  EXPECT_TRUE(RunCli(arguments).json()["up_to_date"]);
}

// The CPU clips nothing, so that it differs from the reference by what the observer clips.
TEST_F(Calibration, EveryObserverMakesAPackageThatVerifies) {
  for (const char* observer : {"percentile", "percentile:99.9", "mse", "entropy"}) {
    SCOPED_TRACE(observer);
    Warnings({"--observer", observer, "--kv", "8"});
    const CliResult verify =
        RunCli({"verify", Path("package"), "--min-faithful", "0.97", "--max-loss", "0.97"});
    EXPECT_EQ(verify.exit_code, 0) << verify.out;
  }
  ExpectRefused(Convert({"--observer", "magic"}), 2, {"magic", "percentile", "entropy"});
}

TEST_F(Calibration, AnObserverThatClipsMuchIsReportedByValueAndUnit) {
  EXPECT_THAT(Warnings({"--observer", "percentile:80"}),
              testing::AllOf(HasSubstr("layers.0.q_proj saturates: "), HasSubstr("layers.1.")));
  const Json unit = ReadJsonFile(scratch() / "package/report.json")["units"][1];
  EXPECT_GT(unit["clipped"].get<double>(), 0.05);
  EXPECT_LT(unit["clipped"].get<double>(), 0.25);
  Warnings({});
  EXPECT_EQ(ReadJsonFile(scratch() / "package/report.json")["units"][1]["clipped"], 0.0);
}

TEST_F(Calibration, AHealthyModelHasNoWarnings) {
  EXPECT_EQ(Warnings({}), "[]");
  const std::string text = ReadFile(TestData() / "../../data/calibration.txt").substr(0, 200);
  const CliResult verify = RunCli({"verify", Path("package"), "--json", "-p", text});
  EXPECT_THAT(verify.json()["warnings"], IsEmpty());
}

TEST_F(Calibration, AProjectionOfZerosIsNamedByConvertAndVerify) {
  EditWeight("model.layers.1.self_attn.v_proj.weight",
             [](std::span<uint16_t> numbers) { std::ranges::fill(numbers, uint16_t{0}); });
  EXPECT_THAT(Warnings({}), HasSubstr("layers.1.v is 0 for every token of calibration"));
  EXPECT_THAT(Verify().json()["warnings"].dump(),
              HasSubstr("layers.1.v is 0 for every token of this text"));
}

TEST_F(Calibration, AnEmbeddingThatIgnoresTheTokenIsNamed) {
  EditWeight("model.embed_tokens.weight", [](std::span<uint16_t> numbers) {
    for (size_t i = 128; i < numbers.size(); ++i) numbers[i] = numbers[i % 128];
  });
  EXPECT_THAT(Warnings({}), HasSubstr("embed.out is the same row for every token"));
}

TEST_F(Calibration, TextThatCalibrationDidNotCoverIsNamedByVerifyAndEval) {
  Warnings({"--calibration", Write("ids.jsonl", "[97, 98]\n")});
  EXPECT_THAT(Verify().json()["warnings"].dump(), HasSubstr("calibration saw"));
  const std::string text =
      Write("text.txt", ReadFile(TestData() / "text/prose.txt").substr(0, 900));
  const Arguments eval = {"eval", Path("package"), "--text", text, "--window", "32", "--json"};
  Arguments quant = eval;
  quant.insert(quant.end(), {"--stage", "quant"});
  EXPECT_THAT(RunCli(quant).json()["warnings"].dump(), HasSubstr("calibrate on text like this"));
  EXPECT_THAT(RunCli(eval).json()["warnings"], IsEmpty()) << "the CPU shows no values";
}

TEST_F(Calibration, AScaleThatDoesNotFitIsNamedByVerify) {
  Warnings({});
  const fs::path unit = scratch() / "package/units/1.hxir";
  const std::string good = ReadFile(unit);
  const size_t at = good.find("@u16(", good.find("\nlayers.0.q_proj ")) + 5;
  const size_t end = good.find(',', at);
  const double scale = std::stod(good.substr(at, end - at));
  for (const auto& [factor, verdict] : {std::pair(1000.0, "far too large"), {0.001, "saturates"}}) {
    WriteFile(unit, good.substr(0, at) + Json(scale * factor).dump() + good.substr(end));
    Reseal(scratch() / "package");
    const std::string warnings = Verify().json()["warnings"].dump();
    EXPECT_THAT(warnings, HasSubstr("layers.0.q_proj"));
    EXPECT_THAT(warnings, HasSubstr(verdict));
  }
}

}  // namespace
}  // namespace hexlane::e2e
