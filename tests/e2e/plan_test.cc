// Plans of conversions, as far as that goes without the vendor's library.
#include "plan.h"

#include <gmock/gmock.h>

namespace hexlane::e2e {
namespace {

using testing::ElementsAre;

std::vector<std::string> Ids(const Json& jobs) {
  std::vector<std::string> ids;
  for (const Json& job : jobs) ids.push_back(job["id"]);
  return ids;
}

TEST_F(PlanTest, JobsOneAfterTheOtherMakeThePackageOfAPlainConversion) {
  const std::string model = CopyTinyModel("model");
  for (const std::string scheme : {"f16", "w4a16"}) {
    const std::string output = Path(scheme + ".jobs"), plain = Path(scheme + ".plain");
    const Json jobs = Plan(Convert(model, output, {"--quant", scheme}));
    EXPECT_THAT(Ids(jobs), ElementsAre("quantise", "package"));
    EXPECT_EQ(jobs[1]["dependencies"], Json({"quantise"}));
    EXPECT_FALSE(fs::exists(jobs[0]["outputs"][0].get<std::string>())) << "a plan does nothing";
    RunJob(jobs[0]);
    EXPECT_FALSE(fs::exists(output));
    RunJob(jobs[1]);
    ASSERT_EQ(RunCli(Convert(model, plain, {"--quant", scheme})).exit_code, 0);
    EXPECT_EQ(HashesOf(output), HashesOf(plain));
  }
}

TEST_F(PlanTest, APartIsAJobForEachSocAndTheEmulator) {
  const Json jobs = Plan(Convert(CopyTinyModel("model"), Path("out"),
                                 {"--soc", "SM8550,SM8650", "--emulator", "--quant", "w8a16"}));
  EXPECT_THAT(Ids(jobs), ElementsAre("quantise", "htp/SM8550.1-3", "emulator/SM8550-emulator.1-3",
                                     "htp/SM8650.1-3", "emulator/SM8650-emulator.1-3", "package"));
  EXPECT_EQ(jobs[1]["dependencies"], Json({"quantise"}));
  EXPECT_EQ(jobs[1]["inputs"], jobs[0]["outputs"]);
  EXPECT_EQ(jobs[5]["dependencies"].size(), 5u);
  for (const Json& job : jobs) {
    EXPECT_GT(job["memory_bytes"], 200 << 20) << job;
    EXPECT_GT(job["seconds"], 0) << job;
  }
}

TEST_F(PlanTest, LittleMemoryMakesMoreJobs) {
  const Json jobs = Plan(Convert(CopyTinyModel("model"), Path("out"),
                                 {"--soc", "SM8650", "--quant", "f16", "--memory", "475MiB"}));
  EXPECT_THAT(Ids(jobs), ElementsAre("quantise", "htp/SM8650.1-1", "htp/SM8650.2-2",
                                     "htp/SM8650.3-3", "package"));
}

TEST_F(PlanTest, StepsThatDoNotExistAreRefused) {
  const std::string model = CopyTinyModel("model");
  const auto only = [&](const std::string& step) {
    return RunCli(Convert(model, Path("out"), {"--quant", "f16", "--only", step}));
  };
  ExpectRefused(only("compile"), 2, {"no step 'compile'", "quantise", "--plan"});
  ExpectRefused(only("htp/SM8650.1-3"), 2, {"no step 'htp/SM8650.1-3'", "--soc"});
  ExpectRefused(only(""), 2, {"--only"});
  ExpectRefused(RunCli(Convert(model, Path("out"), {"--only", "quantise", "--plan", Path("p")})), 2,
                {"--only", "--plan"});
  ExpectRefused(RunCli(Convert(model, Path("out"), {"--plan", Path("none/p")})), 4, {"none/p"});
  EXPECT_THAT(Listing(), ElementsAre("model"));
}

}  // namespace
}  // namespace hexlane::e2e
