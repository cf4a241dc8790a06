// hexlane finetune as a user runs it.
#include <gmock/gmock.h>

#include "models.h"

namespace hexlane::e2e {
namespace {

using testing::HasSubstr;

class FinetuneTest : public ScratchTest {
 protected:
  Arguments Finetune(const std::string& model, const std::string& output,
                     const Arguments& more) const {
    Arguments arguments = {"finetune", model, "-o", Path(output)};
    arguments.insert(arguments.end(), more.begin(), more.end());
    for (const std::string& option : TinyOptions()) arguments.push_back(option);
    return arguments;
  }

  // The names of finished steps in the folder of an unfinished package.
  std::vector<std::string> FinishedUnits() const {
    std::vector<std::string> names;
    std::error_code gone;  // what is being written comes and goes
    for (fs::recursive_directory_iterator it(scratch(), gone), end; it != end; it.increment(gone))
      if (it->path().filename().string().starts_with("unit-") && it->path().extension() == ".json")
        names.push_back(it->path().filename());
    return names;
  }
};

TEST_F(FinetuneTest, EveryLayerIsTrainedAndTheReportSaysWhatItDid) {
  const std::string model = CopyTinyModel("model");
  const CliResult result = RunCli(
      Finetune(model, "out", {"--calibration-tokens", "4096", "--json", "--algorithm", "rtn"}));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const Json report = result.json()["finetune"];
  EXPECT_EQ(report["layers"], 2);
  EXPECT_EQ(report["improved"], 2);
  EXPECT_LT(report["error_after"], 0.9 * report["error_before"].get<double>());
  const Json units = ReadJsonFile(scratch() / "out" / "report.json")["units"];
  EXPECT_FALSE(units[0].contains("finetune")) << "the embedding";
  EXPECT_LT(units[1]["finetune"]["error_after"], units[1]["finetune"]["error_before"]);
  // Asked again, it tells the same without doing it again.
  const CliResult again = RunCli(
      Finetune(model, "out", {"--calibration-tokens", "4096", "--json", "--algorithm", "rtn"}));
  EXPECT_EQ(again.json()["up_to_date"], true);
  EXPECT_EQ(again.json()["finetune"], report);
}

TEST_F(FinetuneTest, OtherOptionsMakeAnotherPackage) {
  const std::string model = CopyTinyModel("model");
  const Arguments options = {"--calibration-tokens", "4096", "--algorithm", "rtn"};
  ASSERT_EQ(RunCli(Finetune(model, "out", options)).exit_code, 0);
  const std::string full = ReadFile(scratch() / "out" / "weights.bin");
  Arguments low_rank = options;
  low_rank.insert(low_rank.end(), {"--rank", "4", "--json"});
  const CliResult result = RunCli(Finetune(model, "out", low_rank));
  EXPECT_EQ(result.json()["up_to_date"], false);
  EXPECT_FALSE(ReadFile(scratch() / "out" / "weights.bin") == full) << "trained differently";
}

TEST_F(FinetuneTest, WhatWasKilledGoesOnAndGivesTheSameBytes) {
  const std::string model = CopyTinyModel("model");
  const Arguments options = {"--calibration-tokens", "4096", "--epochs", "2"};
  ASSERT_EQ(RunCli(Finetune(model, "whole", options)).exit_code, 0);
  // The embedding and a layer are finished, the other layer and the head are not.
  const CliResult killed =
      RunCli(Finetune(model, "killed", options),
             {.signal = SIGKILL, .signal_when = [this] { return FinishedUnits().size() >= 2; }});
  ASSERT_EQ(killed.signal, SIGKILL);
  ASSERT_GE(FinishedUnits().size(), 2u);
  ASSERT_FALSE(fs::exists(Path("killed")));
  ASSERT_EQ(RunCli(Finetune(model, "killed", options)).exit_code, 0);
  EXPECT_TRUE(ReadFile(scratch() / "killed" / "weights.bin") ==
              ReadFile(scratch() / "whole" / "weights.bin"));
}

TEST_F(FinetuneTest, RefusesWhatItCannotTrain) {
  const std::string model = CopyTinyModel("model");
  ExpectRefused(RunCli(Finetune(model, "out", {"--quant", "f16"})), 2, {"f16", "w4a16"});
  ExpectRefused(RunCli(Finetune(model, "out", {"--epochs", "0"})), 2, {"--epochs"});
  ExpectRefused(RunCli(Finetune(model, "out", {"--learning-rate", "0"})), 2, {"learning rate"});
  ExpectRefused(RunCli(Finetune(model, "out", {"--rank", "-1"})), 2, {"--rank"});
  WriteFile(scratch() / "short.txt", "Too short to be divided.");
  ExpectRefused(RunCli(Finetune(model, "out", {"--calibration", Path("short.txt")})), 3,
                {"at least 2 windows", "--calibration"});
}

}  // namespace
}  // namespace hexlane::e2e
