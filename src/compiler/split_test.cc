#include "compiler/split.h"

#include <gmock/gmock.h>

#include "hexlane/compiler.h"
#include "hexlane/engine.h"
#include "package/manifest.h"
#include "runtime/testing.h"

namespace hexlane {
namespace {
namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

Variant NpuVariant(const std::string& name, const std::string& soc) {
  Variant variant{.name = name, .soc = soc, .stages = {{1, 16}}};
  variant.parts = {{"qnn", 0, 3, "ids", "logits", {"htp/" + name + ".bin"}, "", 64}};
  variant.parts[0].contract = "htp/" + name + ".json";
  return variant;
}

class SplitTest : public ::testing::Test {
 protected:
  // The CPU's variant on the null backend, two SoCs and an emulator's.
  Result<void> Write() {
    Manifest manifest = testing::TinyManifest();
    manifest.conversion = {{"version", "x"}};
    manifest.plan.variants[0].name = "cpu";
    for (const char* name : {"SM8550", "SM8650", "SM8650-emulator"})
      manifest.plan.variants.push_back(NpuVariant(name, std::string(name).substr(0, 6)));
    PackageWriter writer = TRY(PackageWriter::Create(path_));
    const Tensor weight = Tensor::FromFloats({1, 2, 3}, {3});
    TRY(writer.AddWeight("w", weight.view()));
    TRY(writer.SealWeights());
    for (size_t i = 1; i < manifest.plan.variants.size(); ++i)
      for (const char* extension : {".bin", ".json"}) {
        const std::string& name = manifest.plan.variants[i].name;
        TRY(writer.AddText("htp/" + name + extension, name + extension));
      }
    for (const char* file : {"null/model.null", "units/0.hxir", "report.json", "htp/stray.bin"})
      TRY(writer.AddText(file, "text"));
    TRY(writer.AddText("tokenizer.json", testing::TinyTokenizer()));
    return writer.Finish(manifest);
  }
  void SetUp() override {
    const auto written = Write();
    ASSERT_TRUE(written) << written.error().ToString();
  }
  Result<SplitReport> Split(const std::vector<std::string>& socs = {}) {
    return SplitPackage({.package = path_, .output = output_, .socs = socs});
  }
  testing::TempDir dir_;
  const fs::path path_ = dir_.path() / "p";
  const fs::path output_ = dir_.path() / "out";
};

TEST_F(SplitTest, EachPackageHasItsVariantsAndTheirFilesOnly) {
  const auto report = Split();
  ASSERT_TRUE(report) << report.error().ToString();
  ASSERT_EQ(report->deliveries.size(), 2u);
  EXPECT_THAT(
      *ListPackageFiles(output_ / "SM8550"),
      UnorderedElementsAre("manifest.json", "htp/SM8550.bin", "htp/SM8550.json", "null/model.null",
                           "report.json", "tokenizer.json", "weights.bin", "weights.json"));
  const auto package = Package::Open(output_ / "SM8650", {});
  ASSERT_TRUE(package) << package.error().ToString();
  ASSERT_EQ((*package)->plan().variants.size(), 2u);
  EXPECT_EQ((*package)->plan().variants[1].name, "SM8650");
  EXPECT_EQ((*package)->plan().variants[1].parts[0].spill_fill_bytes, 64);
  EXPECT_EQ((*package)->Weight("w")->floats()[2], 3.0f);
  EXPECT_EQ(*(*package)->ReadText("htp/SM8650.bin"), "SM8650.bin");
}

TEST_F(SplitTest, FilesAreTheSameOnDiskAndTheOriginalStaysSound) {
  ASSERT_TRUE(Split());
  EXPECT_EQ(fs::hard_link_count(path_ / "weights.bin"), 3u);
  EXPECT_EQ(fs::hard_link_count(path_ / "htp/SM8650.bin"), 2u);
  EXPECT_TRUE(fs::equivalent(path_ / "weights.bin", output_ / "SM8550/weights.bin"));
  EXPECT_TRUE(Package::Open(path_, {}));
}

TEST_F(SplitTest, DeliveryJsonNamesEachManifestByItsHash) {
  const SplitReport report = *Split({"sm8650", "SM8650"});
  const Json json = *ParseJson(*ReadTextFile(output_ / "delivery.json"), "delivery.json");
  EXPECT_EQ(json, Json::parse(report.json));
  ASSERT_EQ(json["packages"].size(), 1u);
  const Json& entry = json["packages"][0];
  EXPECT_EQ(entry["soc"], "SM8650");
  EXPECT_EQ(entry["htp_arch"], 75);
  EXPECT_EQ(entry["manifest_sha256"], *Sha256File(output_ / "SM8650/manifest.json"));
  size_t bytes = 0;
  for (const auto& file : fs::recursive_directory_iterator(output_ / "SM8650"))
    if (file.is_regular_file()) bytes += file.file_size();
  EXPECT_EQ(entry["bytes"], bytes);
  EXPECT_EQ(entry["memory"].size(), 2u);
  EXPECT_EQ(entry["memory"][1]["spill_fill_bytes"], 64);
}

TEST_F(SplitTest, ASplitPackageRunsAndIsNotUpToDateWithTheConversion) {
  ASSERT_TRUE(Split());
  const auto engine = Engine::Open(output_ / "SM8550", {.backend = "cpu"});
  ASSERT_TRUE(engine) << engine.error().ToString();
  EXPECT_THAT((*engine)->info().variants, ElementsAre("cpu", "SM8550"));
  EXPECT_TRUE((*engine)->NewSession());
  const Manifest whole = (*Package::Open(path_, {}))->manifest();
  EXPECT_NE((*Package::Open(output_ / "SM8550", {}))->manifest().conversion, whole.conversion);
}

TEST_F(SplitTest, AnEarlierSplitIsReplacedAndOtherFilesAreNot) {
  ASSERT_TRUE(Split());
  ASSERT_TRUE(Split({"SM8550"}));
  EXPECT_FALSE(fs::exists(output_ / "SM8650"));
  ASSERT_TRUE(WriteFileAtomically(output_ / "SM8550/notes.txt", "mine"));
  const auto refused = Split();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kInvalidInput);
  EXPECT_THAT(refused.error().got, HasSubstr("SM8550/notes.txt"));
  EXPECT_TRUE(fs::exists(output_ / "SM8550/notes.txt"));
}

TEST_F(SplitTest, UnknownSocsAreUsageAndListWhatThereIs) {
  const auto unknown = Split({"SM8750"});
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, Code::kUsage);
  EXPECT_THAT(unknown.error().want, HasSubstr("SM8550, SM8650"));
  EXPECT_FALSE(fs::exists(output_));
}

TEST_F(SplitTest, NeedsAnNpuVariantAndSoundFiles) {
  ASSERT_TRUE(testing::WriteTinyPackage(dir_.path() / "cpu", testing::TinyManifest()));
  const auto none = SplitPackage({.package = dir_.path() / "cpu", .output = output_});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, Code::kInvalidInput);
  EXPECT_THAT(none.error().remedy, HasSubstr("--soc"));
  ASSERT_TRUE(WriteFileAtomically(path_ / "htp/SM8650.bin", "SM8650.bim"));
  EXPECT_EQ(Split().error().code, Code::kCorrupt);
}

}  // namespace
}  // namespace hexlane
