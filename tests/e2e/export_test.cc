// Packages that cannot be exported, said before any work and without the vendor's library.
#include <gmock/gmock.h>

#include "models.h"

namespace hexlane::e2e {
namespace {

class Export : public ScratchTest {
 protected:
  CliResult Genie(const std::string& package) const {
    return RunCli({"export", "genie", package, "-o", Path("out"), "--qnn", "/nonexistent"});
  }
};

TEST_F(Export, GenieNeedsA16BitSchemeAndAn8BitCache) {
  ExpectRefused(Genie(TinyPackage("floats")), 3,
                {"f16 with a 16-bit cache", "--quant w4a16 --kv 8", "floats.model"});
  ExpectRefused(Genie(TinyPackage("wide", "w8a16")), 3,
                {"w8a16 with a 16-bit cache", "--quant w8a16 --kv 8"});
  EXPECT_FALSE(fs::exists(Path("out")));
}

TEST_F(Export, GenieNeedsAnNpu) {
  const std::string package = Path("pkg");
  const CliResult converted =
      RunCli({"convert", CopyTinyModel("model"), "-o", package, "--quant", "w8a16", "--kv", "8",
              "--context", "64", "--prefill-rows", "16"});
  ASSERT_EQ(converted.exit_code, 0) << converted.err;
  ExpectRefused(Genie(package), 3, {"no NPU variant", "--soc"});
  ExpectRefused(Genie(Path("nowhere")), 3, {"nowhere", "hexlane convert"});
}

}  // namespace
}  // namespace hexlane::e2e
