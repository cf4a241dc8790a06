// The aarch64 build under qemu with Qualcomm's aarch64 library: what a phone's process does, but
// for the DSP. Needs the aarch64 preset built, and tools/setup.sh ci.
#include <gmock/gmock.h>

#include "e2e/models.h"

namespace hexlane::e2e {
namespace {
using ::testing::HasSubstr;

class Aarch64 : public ScratchTest {
 protected:
  void SetUp() override {
    ASSERT_TRUE(fs::exists(AARCH64_C_GENERATE)) << "build the aarch64 preset first";
    ASSERT_TRUE(fs::exists(AARCH64_QNN)) << "run tools/setup.sh ci";
    const CliResult converted =
        RunCli({"convert", CopyTinyModel("model"), "-o", Path("pkg"), "--quant", "w8a16", "--soc",
                "SM8650", "--context", "64", "--prefill-rows", "16"});
    ASSERT_EQ(converted.exit_code, 0) << converted.err;
  }

  // `root`: files that the program finds there rather than on this machine.
  CliResult Generate(const std::string& backend, const std::string& root = "/") const {
    return RunCli({"-L", root, "-cpu", "max", "-E", std::string("HEXLANE_QNN=") + AARCH64_QNN,
                   AARCH64_C_GENERATE, Path("pkg"), kPrompt, "8", backend},
                  {.program = QEMU});
  }

  std::string TokensOfTheCommandLine() const {
    return RunCli({"run", Path("pkg"), "--backend", "cpu", "-p", kPrompt, "-n", "8", "--json"})
        .json()["tokens"]
        .dump();
  }

  static constexpr const char* kPrompt = "Ünïcode 🙂 on a phone.";
};

TEST_F(Aarch64, GivesTheTokensOfTheCommandLine) {
  const CliResult result = Generate("cpu");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, ::testing::StartsWith(TokensOfTheCommandLine() + "\n"));
}

TEST_F(Aarch64, WithoutASnapdragonTheCpuRunsAndTheReasonIsNamed) {
  const CliResult result = Generate("auto");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, ::testing::StartsWith(TokensOfTheCommandLine() + "\n"));
  EXPECT_THAT(result.err,
              HasSubstr("SM8650: the HTP library does not start: got 4000 (0xfa0), no NPU"));
  EXPECT_THAT(result.err, HasSubstr("No Snapdragon SOC detected"));
  const CliResult npu_only = Generate("htp");
  EXPECT_EQ(npu_only.exit_code, 1);
  EXPECT_THAT(npu_only.err, HasSubstr("4000 (0xfa0), no NPU"));
}

// 618 is a Snapdragon's number as the kernel tells it; its DSP is not here.
TEST_F(Aarch64, ASnapdragonWhoseDspIsNotReachedIsAnotherRefusal) {
  const fs::path soc = fs::path(Path("root")) / "sys/devices/system/soc/soc0";
  fs::create_directories(soc);
  WriteFile(soc / "id", "618\n");
  fs::create_directories(Path("root/lib"));
  fs::copy("/lib/ld-linux-aarch64.so.1", Path("root/lib/ld-linux-aarch64.so.1"));
  const CliResult result = Generate("auto", Path("root"));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, ::testing::StartsWith(TokensOfTheCommandLine() + "\n"));
  EXPECT_THAT(result.err, HasSubstr("14001 (0x36b1), device not usable"));
  EXPECT_THAT(result.err, HasSubstr("libcdsprpc.so"));
}

}  // namespace
}  // namespace hexlane::e2e
