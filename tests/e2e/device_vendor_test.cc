// The runtime's device side on Qualcomm's emulator: what is given back comes again, and what does
// not fit this library is refused before it is loaded.
#include <gmock/gmock.h>

#include "hexlane/engine_load.h"
#include "models.h"

namespace hexlane::e2e {
namespace {
using ::testing::HasSubstr;

class Device : public ScratchTest {
 protected:
  void SetUp() override {
    const CliResult converted =
        RunCli({"convert", CopyTinyModel("model"), "-o", Path("pkg"), "--quant", "w8a16", "--soc",
                "SM8650", "--emulator", "--context", "64", "--prefill-rows", "16"});
    ASSERT_EQ(converted.exit_code, 0) << converted.err;
  }

  static std::vector<int32_t> Answer(Session& session) {
    session.Reset();
    const std::vector<int32_t> prompt = {72, 101, 120, 108};
    const auto result = session.Generate(prompt, {.max_tokens = 4, .ignore_eos = true});
    return result ? result->tokens : std::vector<int32_t>();
  }
};

TEST_F(Device, BinariesThatWereGivenBackComeAgainWithTheNextToken) {
  const auto engine = Engine::Open(Path("pkg"), {.backend = "htp"});
  ASSERT_TRUE(engine) << engine.error().ToString();
  EXPECT_EQ((*engine)->info().variant, "SM8650-emulator");
  const auto warm = (*engine)->WarmUp();
  ASSERT_TRUE(warm) << warm.error().ToString();
  const auto session = *(*engine)->NewSession();
  const std::vector<int32_t> wanted = Answer(*session);
  EXPECT_EQ(wanted.size(), 4u);
  (*engine)->Trim(TrimLevel::kAll);
  EXPECT_EQ(Answer(*session), wanted);
}

TEST_F(Device, BinariesOfANewerLibraryAreRefusedWithBothVersions) {
  const fs::path manifest = fs::path(Path("pkg")) / "manifest.json";
  Json json = ReadJsonFile(manifest);
  json["vendor"]["qnn_htp"] = "5.99.0";
  WriteFile(manifest, json.dump());
  const auto npu_only = Engine::Open(Path("pkg"), {.backend = "htp"});
  ASSERT_FALSE(npu_only);
  EXPECT_EQ(npu_only.error().code, Code::kEnvironment);
  EXPECT_THAT(npu_only.error().ToString(), HasSubstr("HTP backend 5.99.0"));
  const auto any = Engine::Open(Path("pkg"), {.backend = "auto"});
  ASSERT_TRUE(any) << any.error().ToString();
  EXPECT_EQ((*any)->info().variant, "cpu");
}

}  // namespace
}  // namespace hexlane::e2e
