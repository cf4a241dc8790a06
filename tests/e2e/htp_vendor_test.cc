// The main job with Qualcomm's library: context binaries, the emulator, and Ctrl-C while it works.
#include <gmock/gmock.h>
#include <signal.h>

#include "models.h"

namespace hexlane::e2e {
namespace {

using testing::IsEmpty;

class Htp : public ScratchTest {
 protected:
  Arguments Convert(const std::string& scheme) const {
    Arguments arguments = {
        "convert", CopyTinyModel("model"), "-o", Path("out"), "--quant", scheme, "--soc", "SM8650",
        "--json"};
    for (const std::string& option : TinyOptions()) arguments.push_back(option);
    return arguments;
  }
};

TEST_F(Htp, TheNpuGraphAndItsBinaryAreFaithful) {
  const CliResult convert = RunCli(Convert("f16"));
  ASSERT_EQ(convert.exit_code, 0) << convert.err << convert.out;
  EXPECT_TRUE(convert.json()["htp_bits_per_weight"].contains("SM8650"));
  const CliResult verify = RunCli({"verify", Path("out"), "--json"});
  EXPECT_EQ(verify.exit_code, 0) << verify.err << verify.out;
  EXPECT_EQ(verify.json()["stages"].size(), 4u) << "quant, htp, htp-binary, cpu";
}

// Symmetric rows, blocks with minimums, and the 8-bit blocks that Q5_K and Q6_K become.
TEST_F(Htp, ImportedIntegersAreFaithful) {
  const fs::path folder = TestData() / "quantised_checkpoints";
  // Random layers amplify what a 4-bit table loses.
  WriteFile(scratch() / "8", R"({"rules": [{"pattern": "embed", "weights": "w8-channel"}]})");
  for (const std::string& model :
       {CopyTinyModel("rows", "../quantised_checkpoints/gptq-4bit-channel"),
        CopyTinyModel("minimums", "../quantised_checkpoints/awq-4bit-128"),
        (folder / "k-quants/model.gguf").string()}) {
    SCOPED_TRACE(model);
    fs::remove_all(Path("out"));
    const CliResult convert =
        RunCli({"convert", model, "-o", Path("out"), "--quant", "w4-exact", "--soc", "SM8650",
                "--context", "64", "--prefill-rows", "16", "--overrides", Path("8")});
    ASSERT_EQ(convert.exit_code, 0) << convert.err;
    const CliResult verify = RunCli({"verify", Path("out"), "--json", "--max-tokens", "16"});
    EXPECT_EQ(verify.exit_code, 0) << verify.err << verify.out;
    EXPECT_EQ(verify.json()["faithful"], true) << verify.out;
    EXPECT_EQ(verify.json()["stages"].size(), 4u);  // quant, htp, htp-binary, cpu
  }
}

TEST_F(Htp, TheEmulatorAnswersTextsAndQuestionsAsTheQuantisedModelDoes) {
  const CliResult convert = RunCli(Convert("w8a16"));
  ASSERT_EQ(convert.exit_code, 0) << convert.err << convert.out;
  WriteFile(scratch() / "text", std::string(20, 'x') + " and some more text to score");
  const CliResult text = RunCli({"eval", Path("out"), "--stage", "htp", "--text", Path("text"),
                                 "--window", "40", "--against", "quant", "--json"});
  ASSERT_EQ(text.exit_code, 0) << text.err << text.out;
  EXPECT_EQ(text.json()["tokens"], 19);
  EXPECT_LT(text.json()["against"]["kl_mean"].get<double>(), 1e-3);
  WriteFile(scratch() / "questions",
            R"({"context": "Ice is", "choices": ["cold", "sweet"], "answer": 0})");
  std::vector<double> likelihoods;
  for (const char* stage : {"quant", "htp"}) {
    const CliResult choice = RunCli(
        {"eval", Path("out"), "--stage", stage, "--multiple-choice", Path("questions"), "--json"});
    ASSERT_EQ(choice.exit_code, 0) << choice.err << choice.out;
    likelihoods.push_back(choice.json()["log_likelihoods"][0][0]);
    EXPECT_TRUE(choice.json()["acc_stderr"].is_null()) << "one question";
  }
  EXPECT_NEAR(likelihoods[1] / likelihoods[0], 1, 0.01);
}

TEST_F(Htp, AnInterruptedCompilationLeavesNothing) {
  const std::string model = SmolModel();
  for (const double after : {1.5, 4.0}) {
    const CliResult result = RunCli({"convert", model, "-o", Path("out"), "--soc", "SM8650"},
                                    {.signal = SIGINT, .signal_after = after});
    EXPECT_EQ(result.exit_code, 130) << result.err;
    EXPECT_THAT(Listing(), IsEmpty());
  }
}

}  // namespace
}  // namespace hexlane::e2e
