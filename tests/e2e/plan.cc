#include "plan.h"

#include "base/file.h"

namespace hexlane::e2e {

Arguments PlanTest::Convert(const std::string& model, const std::string& output,
                            const Arguments& options) const {
  Arguments command = {"convert", model, "-o", output};
  for (const std::string& option : TinyOptions()) command.push_back(option);
  command.insert(command.end(), options.begin(), options.end());
  return command;
}

Json PlanTest::Plan(const Arguments& command) const {
  Arguments planning = command;
  planning.insert(planning.end(), {"--plan", Path("jobs.json")});
  const CliResult result = RunCli(planning);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  return ReadJsonFile(Path("jobs.json"))["jobs"];
}

void RunJob(const Json& job) {
  const Arguments command = job["command"].get<Arguments>();
  const CliResult result =
      RunCli(Arguments(command.begin() + 1, command.end()), {.program = command[0]});
  EXPECT_EQ(result.exit_code, 0) << job["id"] << result.err;
  for (const Json& output : job["outputs"])
    EXPECT_TRUE(fs::exists(output.get<std::string>())) << output;
}

std::map<std::string, std::string> HashesOf(const fs::path& folder) {
  std::map<std::string, std::string> hashes;
  for (const std::string& file : FilesOf(folder))
    hashes[file] = Sha256File(folder / file).value_or("unreadable");
  return hashes;
}

}  // namespace hexlane::e2e
