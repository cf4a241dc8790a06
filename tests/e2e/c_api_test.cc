// A C program on libhexlane.so gives the tokens and text of the command line.
#include <gtest/gtest.h>

#include "models.h"

namespace hexlane::e2e {
namespace {

class CProgram : public ScratchTest {};

TEST_F(CProgram, GivesTheTokensOfTheCommandLine) {
  const std::string package = TinyPackage("pkg", "w4a16");
  const std::string prompt = "Ünïcode and 🙂, twice sixteen tokens.";
  const CliResult ours =
      RunCli({"run", package, "--backend", "cpu", "-p", prompt, "-n", "12", "--json"});
  ASSERT_EQ(ours.exit_code, 0) << ours.err;
  const CliResult result = RunCli({package, prompt, "12", "cpu"}, {.program = C_GENERATE_BINARY});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out,
            ours.json()["tokens"].dump() + "\n" + ours.json()["text"].get<std::string>());
}

TEST_F(CProgram, ShowsTheLibrarysErrors) {
  const CliResult result = RunCli({Path("nothing"), "hello", "1"}, {.program = C_GENERATE_BINARY});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_NE(result.err.find(Path("nothing")), std::string::npos) << result.err;
}

}  // namespace
}  // namespace hexlane::e2e
