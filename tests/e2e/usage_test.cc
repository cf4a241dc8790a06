// What the command says about itself and about requests that make no sense.
#include <gmock/gmock.h>

#include "models.h"

namespace hexlane::e2e {
namespace {

using testing::HasSubstr;

const std::vector<std::string> kVerbs = {"convert", "run",      "chat",    "verify", "eval",
                                         "dump",    "tokenize", "inspect", "doctor", "bench"};

TEST(CommandUsage, WithoutArgumentsItShowsItsHelp) {
  const CliResult result = RunCli({});
  EXPECT_EQ(result.exit_code, 2);
  for (const std::string& verb : kVerbs) EXPECT_THAT(result.out, HasSubstr("\n  " + verb));
}

TEST(CommandUsage, EveryVerbHasHelpWithJson) {
  for (const std::string& verb : kVerbs) {
    const CliResult result = RunCli({verb, "--help"});
    EXPECT_EQ(result.exit_code, 0) << verb;
    EXPECT_THAT(result.out, HasSubstr("--json")) << verb;
    EXPECT_EQ(result.err, "") << verb;
  }
  const CliResult genie = RunCli({"export", "genie", "--help"});
  EXPECT_THAT(genie.out, HasSubstr("--json")) << genie.err;
  EXPECT_THAT(RunCli({"--help"}).out, HasSubstr("\n  export"));
  EXPECT_THAT(RunCli({"--help"}).out, HasSubstr("130"));
  EXPECT_EQ(RunCli({"--version"}).exit_code, 0);
}

TEST(CommandUsage, RefusesWhatItDoesNotKnow) {
  const std::string model = TinyCheckpoint();
  ExpectRefused(RunCli({"bogus"}), 2, {"bogus", "--help"});
  ExpectRefused(RunCli({"convert"}), 2, {"MODEL", "--help"});
  ExpectRefused(RunCli({"convert", model, "--bogus"}), 2, {"--bogus"});
  ExpectRefused(RunCli({"convert", model, "--quant", "w3"}), 2, {"w3", "w4-exact"});
  ExpectRefused(RunCli({"convert", model, "--kv", "7"}), 2, {"7", "8 or 16"});
  ExpectRefused(RunCli({"convert", model, "--context", "8"}), 2, {"context of 8"});
  ExpectRefused(RunCli({"convert", model, "--soc", "SM9999"}), 2, {"SM9999", "SM8650"});
  ExpectRefused(RunCli({"eval", model, "--text", model, "--stage", "x"}), 2, {"'x'", "quant"});
  ExpectRefused(RunCli({"dump", model, "-o", "/tmp/x", "--ids", "a"}), 2, {"--ids"});
  ExpectRefused(RunCli({"run", model, "-p", "x", "-n", "-4"}), 2, {"-4"});
}

TEST(CommandUsage, ErrorsAreJsonToo) {
  for (const Arguments& arguments :
       {Arguments{"convert", "--json"}, Arguments{"run", "/nowhere", "-p", "x", "--json"}}) {
    const CliResult result = RunCli(arguments);
    const Json error = result.json()["error"];
    for (const char* field : {"code", "what", "where", "want", "got", "remedy"})
      EXPECT_TRUE(error.contains(field)) << field;
    EXPECT_THAT(result.err, HasSubstr(error.value("what", "?")));
  }
}

TEST(CommandUsage, DoctorSaysWhatIsMissingAndHowToGetIt) {
  const CliResult result = RunCli({"doctor", "--json", "--qnn", "/nonexistent"});
  EXPECT_EQ(result.exit_code, 1);
  const Json json = result.json();
  EXPECT_EQ(json["ok"], false);
  for (const Json& finding : json["findings"])
    EXPECT_NE(finding["ok"].get<bool>(), !finding["remedy"].get<std::string>().empty())
        << finding.dump();
  EXPECT_THAT(RunCli({"doctor", "--qnn", "/nonexistent"}).out, HasSubstr("MISSING"));
}

TEST(CommandUsage, OutputThatDoesNotArriveIsAnError) {
  const Arguments inspect = {"inspect", TinyCheckpoint()};
  ExpectRefused(RunCli(inspect, {.output = "/dev/full"}), 4, {"standard output", "No space"});
  ExpectRefused(RunCli(inspect, {.output = "closed pipe"}), 4, {"standard output", "Broken pipe"});
}

}  // namespace
}  // namespace hexlane::e2e
