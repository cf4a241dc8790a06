// Plans of conversions with NPU parts.
#include <future>

#include "plan.h"

namespace hexlane::e2e {
namespace {

// Positions of the jobs: quantise, two parts, package.
enum { kQuantise, kFirst, kSecond, kPackage };

TEST_F(PlanTest, PartsAtTheSameTimeMakeThePackageOfAPlainConversion) {
  const std::string model = CopyTinyModel("model");
  const Arguments options = {"--quant", "w8a16", "--soc", "SM8550,SM8650"};
  const Json jobs = Plan(Convert(model, Path("jobs"), options));
  ASSERT_EQ(jobs.size(), 4u);
  RunJob(jobs[kQuantise]);
  std::future<void> other = std::async(std::launch::async, [&] { RunJob(jobs[kFirst]); });
  RunJob(jobs[kSecond]);
  other.get();
  const fs::path record = jobs[kSecond]["outputs"][0].get<std::string>();
  const auto before = fs::last_write_time(record);
  RunJob(jobs[kSecond]);
  EXPECT_EQ(fs::last_write_time(record), before) << "a finished part is not compiled again";
  RunJob(jobs[kPackage]);
  ASSERT_EQ(RunCli(Convert(model, Path("plain"), options)).exit_code, 0);
  EXPECT_EQ(HashesOf(Path("jobs")), HashesOf(Path("plain")));
}

TEST_F(PlanTest, PartsOneAfterTheOtherMakeThePackageOfAPlainConversion) {
  const std::string model = CopyTinyModel("model");
  const Arguments options = {"--quant", "w4a16", "--soc", "SM8650", "--emulator"};
  for (const Json& job : Plan(Convert(model, Path("jobs"), options))) RunJob(job);
  ASSERT_EQ(RunCli(Convert(model, Path("plain"), options)).exit_code, 0);
  EXPECT_EQ(HashesOf(Path("jobs")), HashesOf(Path("plain")));
}

TEST_F(PlanTest, APartBeforeItsDependencyIsRefused) {
  const std::string model = CopyTinyModel("model");
  const Arguments options = {"--quant", "f16", "--soc", "SM8650"};
  Arguments part = Convert(model, Path("out"), options);
  part.insert(part.end(), {"--only", "htp/SM8650.1-3"});
  ExpectRefused(RunCli(part), 3, {"htp/SM8650.1-3", "needs step 'quantise'", "--only quantise"});
  EXPECT_EQ(Listing(), std::vector<std::string>{"model"});
  RunJob(Plan(Convert(model, Path("out"), options))[kQuantise]);
  part.back() = "htp/SM8650.1-2";
  ExpectRefused(RunCli(part), 2, {"no part 'htp/SM8650.1-2'", "htp/SM8650.1-3"});
  EXPECT_EQ(RunCli(Convert(model, Path("out"), options)).exit_code, 0);
}

}  // namespace
}  // namespace hexlane::e2e
