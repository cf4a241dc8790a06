// What the command says about itself and about requests that make no sense.
#include <gmock/gmock.h>

#include "models.h"

namespace hexlane::e2e {
namespace {

using testing::HasSubstr;

const std::vector<std::string> kVerbs = {"convert", "finetune", "run",  "chat",
                                         "verify",  "eval",     "dump", "tokenize",
                                         "inspect", "doctor",   "bench"};

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
  for (const char* verb : {"split", "memory"})
    EXPECT_THAT(RunCli({"package", verb, "--help"}).out, HasSubstr("--json")) << verb;
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

TEST(CommandUsage, NumbersOutOfRangeNameTheOptionAndTheLimits) {
  const std::vector<std::pair<Arguments, std::vector<std::string>>> cases = {
      {{"verify", "x", "--max-tokens", "-5"}, {"--max-tokens", "at least 2"}},
      {{"verify", "x", "--greedy", "-1"}, {"--greedy", "at least 0"}},
      {{"verify", "x", "--max-loss", "2"}, {"--max-loss", "-1 to 1"}},
      {{"verify", "x", "--max-loss", "nan"}, {"--max-loss", "nan"}},
      {{"verify", "x", "--min-faithful", "nan"}, {"--min-faithful", "nan"}},
      {{"eval", "x", "--text", "y", "--max-windows", "-2"}, {"--max-windows", "at least 0"}},
      {{"run", "x", "-p", "y", "-n", "-1"}, {"--max-tokens", "at least 0"}},
      {{"run", "x", "-p", "y", "--context", "-5"}, {"--context", "at least 0"}},
      {{"bench", "x", "--prompt-tokens", "0"}, {"--prompt-tokens", "at least 1"}},
      {{"inspect", "x", "--threads", "2000"}, {"--threads", "0 to 1024"}},
  };
  for (const auto& [arguments, parts] : cases) {
    const CliResult result = RunCli(arguments);
    ExpectRefused(result, 2, parts);
    EXPECT_LT(result.err.size(), 200u) << result.err;
  }
}

TEST(CommandUsage, BenchHasNoOptionsThatItWouldIgnore) {
  for (const char* option : {"-n", "--stop", "--system", "--temperature", "--seed"})
    ExpectRefused(RunCli({"bench", "x", option, "1"}), 2, {option});
}

TEST(CommandUsage, ListsOfIdsMustBeWhole) {
  for (const char* ids : {"", ",", "1,,2", "1,", "1;2", "-1", "99999999999", "1 2"}) {
    ExpectRefused(RunCli({"dump", TinyCheckpoint(), "--ids", ids, "-o", "/tmp/x"}), 2,
                  {"--ids", "1,2,3"});
  }
}

TEST(CommandUsage, OptionsWithListsDoNotTakeTheModel) {
  const std::string model = TinyCheckpoint();
  ExpectRefused(RunCli({"convert", "--soc", "SM9999", model}), 2, {"SM9999", "SM8650"});
  ExpectRefused(RunCli({"convert", "--context", "8,512", model}), 2, {"context of 8"});
  ExpectRefused(RunCli({"run", "--stop", "x", "/nowhere", "-p", "y"}), 3, {"/nowhere"});
  ExpectRefused(RunCli({"dump", "--ids", "1,2", "/nowhere", "-o", "/tmp/x"}), 3, {"/nowhere"});
}

TEST(CommandUsage, ContradictionsOfConvert) {
  const std::string model = TinyCheckpoint();
  ExpectRefused(RunCli({"convert", model, "-o", ""}), 2, {"--output"});
  ExpectRefused(RunCli({"convert", model, "-o", "/tmp/x", "--emulator"}), 2, {"--soc"});
}

TEST(CommandUsage, VerifyDoesNotOfferCheckpoints) {
  EXPECT_THAT(RunCli({"verify", "--help"}).out, testing::Not(HasSubstr("also a checkpoint")));
  EXPECT_THAT(RunCli({"dump", "--help"}).out, HasSubstr("also a checkpoint"));
}

TEST(CommandUsage, MoreThreadsThanProcessorsAreNotUsed) {
  const CliResult result = RunCli({"inspect", TinyCheckpoint(), "--threads", "1024"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.err, HasSubstr("processors"));
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
