// `package split` and `package memory`, and runs that do not fit into memory.
#include <gmock/gmock.h>

#include "models.h"

namespace hexlane::e2e {
namespace {

using testing::HasSubstr;

constexpr size_t kBinaryBytes = 1 << 20;

class PackageVerbs : public ScratchTest {
 protected:
  // The tiny package with made-up NPU variants of two SoCs and an emulator's.
  std::string WithNpus() const {
    const std::string package = TinyPackage("pkg");
    fs::create_directories(fs::path(package) / "htp");
    EditJson(fs::path(package) / "manifest.json", [&](Json& manifest) {
      for (const std::string name : {"SM8550", "SM8650", "SM8650-emulator"}) {
        Json variant = manifest["plan"]["variants"][0];
        variant["name"] = name;
        variant["soc"] = name.substr(0, 6);
        Json& part = variant["parts"][0];
        part["backend"] = "qnn";
        part["files"] = {"htp/" + name + ".bin"};
        part["spill_fill_bytes"] = 4096;
        WriteFile(fs::path(package) / "htp" / (name + ".bin"), std::string(kBinaryBytes, name[5]));
        manifest["files"]["htp/" + name + ".bin"] = {{"bytes", 0}, {"sha256", ""}};
        manifest["plan"]["variants"].push_back(variant);
      }
    });
    Reseal(package);
    return package;
  }
  CliResult Split(const std::string& package, const Arguments& more = {}) const {
    Arguments arguments = {"package", "split", package, "-o", Path("out")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return RunCli(arguments);
  }
};

TEST_F(PackageVerbs, SplitPackagesRunAndNoticeDamage) {
  const std::string package = WithNpus();
  const CliResult split = Split(package, {"--json"});
  ASSERT_EQ(split.exit_code, 0) << split.err;
  EXPECT_EQ(split.json(), ReadJsonFile(Path("out/delivery.json")));
  EXPECT_EQ(ReadFile(Path("out/SM8650/htp/SM8650.bin")), ReadFile(package + "/htp/SM8650.bin"));
  EXPECT_EQ(FilesOf(Path("out/SM8550")).size(), FilesOf(package).size() - 2 - 4)
      << "no other SoC, no emulator, no units";
  const Arguments run = {"run", Path("out/SM8650"), "-p", "ab", "-n", "3", "--json"};
  Arguments whole = run;
  whole[1] = package;
  EXPECT_EQ(RunCli(run).json()["tokens"], RunCli(whole).json()["tokens"]);
  ExpectRefused(RunCli({"verify", Path("out/SM8650")}), 3, {"split for delivery", "split from"});
  fs::remove(Path("out/SM8650/htp/SM8650.bin"));
  WriteFile(Path("out/SM8650/htp/SM8650.bin"), std::string(kBinaryBytes, 'x'));
  ExpectRefused(RunCli(run), 3, {"SM8650.bin", "SHA-256"});
  EXPECT_EQ(RunCli(whole).exit_code, 0);
}

TEST_F(PackageVerbs, SplitRefusesWhatItCannotDo) {
  ExpectRefused(Split(TinyPackage("plain")), 3, {"no NPU variant", "plain", "--soc"});
  const std::string package = WithNpus();
  ExpectRefused(Split(package, {"--soc", "SM8650,SM9999"}), 2, {"SM9999", "SM8550, SM8650"});
  EXPECT_FALSE(fs::exists(Path("out")));
  fs::create_directories(Path("out"));
  WriteFile(Path("out/mine.txt"), "mine");
  ExpectRefused(Split(package), 3, {"mine.txt", "output folder"});
  ExpectRefused(RunCli({"package", "split", package, "-o", package + "/sub"}), 3, {"lies inside"});
  ExpectRefused(Split(Path("nowhere")), 3, {"nowhere"});
}

TEST_F(PackageVerbs, MemoryTellsEachVariantsNeed) {
  const std::string package = WithNpus();
  const CliResult memory = RunCli({"package", "memory", package, "--json"});
  ASSERT_EQ(memory.exit_code, 0) << memory.err;
  const Json json = memory.json();
  ASSERT_EQ(json["needs"].size(), 4u);
  EXPECT_EQ(json["needs"][0]["variant"], "cpu");
  EXPECT_GT(json["needs"][0]["mapped_weights_bytes"], 0);
  EXPECT_EQ(json["needs"][2]["binaries_bytes"], kBinaryBytes);
  EXPECT_EQ(json["needs"][2]["spill_fill_bytes"], 4096);
  EXPECT_GT(json["available_bytes"], 0);
  EXPECT_THAT(RunCli({"package", "memory", package}).out, HasSubstr("\nSM8650-emulator"));
}

TEST_F(PackageVerbs, RunsThatDoNotFitAreRefusedByName) {
  const std::string package = WithNpus();
  const Arguments run = {"run", package, "-p", "ab", "-n", "2", "--json", "--memory"};
  const auto with = [&](const Arguments& more) {
    Arguments arguments = run;
    arguments.insert(arguments.end(), more.begin(), more.end());
    return RunCli(arguments);
  };
  const CliResult fallback = with({"1MiB"});
  ASSERT_EQ(fallback.exit_code, 0) << fallback.err;
  EXPECT_EQ(fallback.json()["variant"], "cpu");
  EXPECT_THAT(fallback.json()["fallback_reason"].get<std::string>(),
              HasSubstr("'SM8650' needs more memory"));
  ExpectRefused(with({"1KiB", "--backend", "cpu"}), 4,
                {"'cpu'", "1.0 KiB", "KV cache of 64 positions", "mapped weights", "--memory"});
  ExpectRefused(with({"1KiB"}), 4, {"no variant", "SM8550", "cpu"});
  ExpectRefused(with({"lots"}), 2, {"--memory"});
}

}  // namespace
}  // namespace hexlane::e2e
