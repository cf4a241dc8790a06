#include "package/package.h"

#include <gmock/gmock.h>

#include <fstream>

#include "package/manifest.h"
#include "package/testing.h"

namespace hexlane {
namespace {
namespace fs = std::filesystem;
using ::testing::HasSubstr;

std::vector<float> Numbers(size_t n, float first) {
  std::vector<float> values(n);
  for (size_t i = 0; i < n; ++i) values[i] = first + static_cast<float>(i);
  return values;
}

Result<void> WriteTiny(const fs::path& path) {
  PackageWriter writer = TRY(PackageWriter::Create(path));
  const Tensor a = Tensor::FromFloats(Numbers(6, 0), {2, 3});
  const Tensor b = Tensor::FromFloats(Numbers(5, 100), {5});
  TRY(writer.AddWeight("a", a.view()));
  TRY(writer.AddWeight("b", b.view()));
  TRY(writer.AddWeight("a", a.view()));  // again: stored once
  TRY(writer.SealWeights());
  TRY(writer.AddText("null/model.null", "nothing\n"));
  TRY(writer.AddText("tokenizer.json", "{}"));
  return writer.Finish(testing::TinyManifest());
}

std::string ReadAll(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(stream), {});
}

void WriteAll(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

class PackageTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto written = WriteTiny(path_);
    ASSERT_TRUE(written) << written.error().ToString();
  }
  auto Open(bool check_files = true) { return Package::Open(path_, {.check_files = check_files}); }
  // Opens after manifest.json was edited as JSON.
  template <typename Change>
  Error ErrorAfter(Change change) {
    Json json = *ParseJson(ReadAll(path_ / "manifest.json"), "manifest.json");
    change(json);
    WriteAll(path_ / "manifest.json", json.dump());
    const auto package = Open();
    return package ? Error{.what = "no error"} : package.error();
  }

  testing::TempDir dir_;
  const fs::path path_ = dir_.path() / "model.hxl";
};

TEST_F(PackageTest, ComesBackAsWritten) {
  const auto opened = Open();
  ASSERT_TRUE(opened) << opened.error().ToString();
  const Package& package = **opened;
  EXPECT_EQ(package.manifest().vendor.at("qnn"), "2.1.0");
  EXPECT_EQ(ToJson(package.plan()), ToJson(testing::TinyManifest().plan));
  ASSERT_EQ(package.weights().size(), 2u);
  EXPECT_EQ(package.weights()[1].offset, 64u);
  const auto b = package.Weight("b");
  ASSERT_TRUE(b);
  EXPECT_EQ(b->shape(), Shape({5}));
  EXPECT_EQ(b->floats()[4], 104.0f);
  EXPECT_EQ(package.ReadText("tokenizer.json"), "{}");
  EXPECT_EQ(package.files().at("null/model.null"), 8u);
}

TEST_F(PackageTest, AddedFilesAreLinkedAndTheOriginalsAreNeverWritten) {
  const std::string weights = ReadAll(path_ / "weights.bin");
  const fs::path copy = dir_.path() / "copy.hxl";
  auto writer = PackageWriter::Create(copy);
  ASSERT_TRUE(writer);
  for (const char* file : {"weights.bin", "weights.json", "null/model.null"})
    ASSERT_TRUE(writer->AddFile(file, path_ / file)) << file;
  EXPECT_EQ(writer->AddFile("x", path_ / "absent").error().code, Code::kIo);
  EXPECT_FALSE(writer->AddFile("../x", path_ / "weights.bin"));
  const auto done = writer->Finish(testing::TinyManifest());
  ASSERT_TRUE(done) << done.error().ToString();
  EXPECT_TRUE(fs::equivalent(path_ / "weights.bin", copy / "weights.bin"));
  EXPECT_EQ(ReadAll(path_ / "weights.bin"), weights);
  EXPECT_TRUE(Open());
  EXPECT_EQ((*Package::Open(copy, {}))->Weight("b")->floats()[4], 104.0f);
}

TEST_F(PackageTest, WhatAKilledProcessLeftIsNotShipped) {
  const fs::path target = dir_.path() / "again.hxl";
  {
    auto killed = PackageWriter::Create(target, {.key = "0123abcd"});
    ASSERT_TRUE(killed && killed->AddText("null/model.null", "nothing\n") &&
                killed->AddText("units/0.hxir", "graph"));
    WriteAll(killed->directory() / ".tokenizer.json.77-1.0.tmp", "{");
    WriteAll(killed->directory() / "units" / "9.hxir", "of nobody");
    killed->Keep();
  }
  auto writer = PackageWriter::Create(target, {.key = "0123abcd"});
  ASSERT_TRUE(writer);
  const std::string graph = "graph";
  const std::string sha256 = Sha256(std::as_bytes(std::span(graph)));
  EXPECT_EQ(writer->RestoreText("units/9.hxir", sha256).error().code, Code::kCorrupt);
  EXPECT_EQ(writer->RestoreText("units/8.hxir", sha256).error().code, Code::kCorrupt);
  ASSERT_TRUE(writer->RestoreText("units/0.hxir", sha256));
  const auto done = writer->Finish(testing::TinyManifest());
  ASSERT_TRUE(done) << done.error().ToString();
  EXPECT_EQ(FilesBelow(target).value_or(std::vector<std::string>()),
            (std::vector<std::string>{"manifest.json", "null/model.null", "units/0.hxir",
                                      "weights.bin", "weights.json"}));
}

TEST_F(PackageTest, LeavesOnlyThePackageBehind) {
  EXPECT_EQ(std::distance(fs::directory_iterator(dir_.path()), {}), 1);
  EXPECT_FALSE(fs::exists(path_ / "manifest.json.tmp"));
}

TEST_F(PackageTest, KeepsAWeightAliveWithoutThePackage) {
  auto package = *Open();
  const Tensor a = *package->Weight("a");
  package.reset();
  EXPECT_EQ(a.floats()[5], 5.0f);
}

TEST_F(PackageTest, NamesTheFileOfWhichAByteWasChanged) {
  for (const char* name : {"weights.bin", "weights.json", "null/model.null", "tokenizer.json"}) {
    const std::string bytes = ReadAll(path_ / name);
    std::string changed = bytes;
    changed[changed.size() / 2] ^= 1;
    WriteAll(path_ / name, changed);
    const auto package = Open();
    ASSERT_FALSE(package) << name;
    EXPECT_EQ(package.error().code, Code::kCorrupt);
    EXPECT_THAT(package.error().where, HasSubstr(name));
    WriteAll(path_ / name, bytes);
  }
}

TEST_F(PackageTest, NamesTheFileThatIsCutOffOrMissingEvenWithoutHashing) {
  for (const char* name : {"weights.bin", "weights.json", "null/model.null", "tokenizer.json"}) {
    const std::string bytes = ReadAll(path_ / name);
    WriteAll(path_ / name, bytes.substr(0, bytes.size() - 1));
    EXPECT_THAT(Open(false).error().where, HasSubstr(name));
    fs::remove(path_ / name);
    EXPECT_THAT(Open(false).error().ToString(), HasSubstr(name));
    EXPECT_EQ(Open(false).error().code, Code::kCorrupt);
    WriteAll(path_ / name, bytes);
  }
}

TEST_F(PackageTest, SurvivesEveryCutOfTheManifest) {
  const std::string bytes = ReadAll(path_ / "manifest.json");
  for (size_t size = 0; size + 2 < bytes.size(); ++size) {
    const auto manifest = ParseManifest(bytes.substr(0, size), "manifest.json");
    ASSERT_FALSE(manifest) << size;
    EXPECT_EQ(manifest.error().code, Code::kCorrupt);
    EXPECT_THAT(manifest.error().where, HasSubstr("manifest.json"));
  }
}

TEST_F(PackageTest, RefusesAFolderThatIsNoPackage) {
  EXPECT_EQ(Package::Open(dir_.path(), {}).error().code, Code::kNotFound);
  EXPECT_EQ(Package::Open(dir_.path() / "absent", {}).error().code, Code::kNotFound);
}

TEST_F(PackageTest, RefusesANewerFormat) {
  const Error error = ErrorAfter([](Json& j) { j["format_version"] = 2; });
  EXPECT_EQ(error.code, Code::kUnsupported);
  EXPECT_THAT(error.remedy, HasSubstr("Update Hexlane"));
}

TEST_F(PackageTest, RefusesFileNamesThatLeaveThePackage) {
  const Error error = ErrorAfter([](Json& j) { j["files"]["../x"] = j["files"]["weights.bin"]; });
  EXPECT_EQ(error.code, Code::kCorrupt);
  EXPECT_THAT(error.got, HasSubstr("../x"));
}

TEST_F(PackageTest, RefusesAPlanWhoseFilesAreNotListed) {
  const Error error = ErrorAfter([](Json& j) { j["files"].erase("null/model.null"); });
  EXPECT_EQ(error.code, Code::kCorrupt);
  EXPECT_THAT(error.got, HasSubstr("null/model.null"));
}

TEST_F(PackageTest, DoesNotServeFilesThatAreNotListed) {
  WriteAll(path_ / "extra.txt", "x");
  const auto package = *Open();
  EXPECT_EQ(package->ReadText("extra.txt").error().code, Code::kCorrupt);
  EXPECT_EQ(package->ReadText("../model.hxl/tokenizer.json").error().code, Code::kCorrupt);
  EXPECT_EQ(package->Weight("c").error().code, Code::kNotFound);
}

TEST(PackageWriter, RefusesTwoWeightsOfOneName) {
  testing::TempDir dir;
  auto writer = PackageWriter::Create(dir.path() / "p");
  ASSERT_TRUE(writer);
  ASSERT_TRUE(writer->AddWeight("a", Tensor::FromFloats(Numbers(2, 0), {2}).view()));
  EXPECT_EQ(writer->AddWeight("a", Tensor::FromFloats(Numbers(2, 1), {2}).view()).error().code,
            Code::kInvalidInput);
}

TEST(PackageWriter, WritesNothingWhenThePlanIsNotSound) {
  testing::TempDir dir;
  {
    auto writer = PackageWriter::Create(dir.path() / "p");
    ASSERT_TRUE(writer);
    EXPECT_FALSE(writer->Finish(testing::TinyManifest()));  // null/model.null is not there
  }
  EXPECT_TRUE(fs::is_empty(dir.path()));
}

TEST(PackageWriter, ReplacesAPackageButNoOtherFolder) {
  testing::TempDir dir;
  ASSERT_TRUE(WriteTiny(dir.path() / "p"));
  EXPECT_TRUE(WriteTiny(dir.path() / "p"));
  WriteAll(dir.path() / "letter.txt", "dear");
  EXPECT_EQ(PackageWriter::Create(dir.path()).error().code, Code::kInvalidInput);
  EXPECT_EQ(PackageWriter::Create(dir.path() / "letter.txt").error().code, Code::kInvalidInput);
  EXPECT_TRUE(fs::exists(dir.path() / "letter.txt"));
}

TEST(PackageWriter, DoesNotReplaceAPackageWithSomebodysFileOrAnotherKindOfManifest) {
  testing::TempDir dir;
  ASSERT_TRUE(WriteTiny(dir.path() / "p"));
  WriteAll(dir.path() / "p" / "notes.txt", "dear");
  EXPECT_EQ(PackageWriter::Create(dir.path() / "p").error().got, "notes.txt");
  fs::create_directory(dir.path() / "web");
  WriteAll(dir.path() / "web" / "manifest.json", R"({"name": "my extension"})");
  const auto web = PackageWriter::Create(dir.path() / "web");
  ASSERT_FALSE(web);
  EXPECT_EQ(web.error().code, Code::kInvalidInput);
  EXPECT_TRUE(web.error().got.starts_with("manifest.json")) << web.error().got;
}

TEST(WeightIndex, RefusesWhatDoesNotFit) {
  const auto error = [](Json change) {
    Json a = {{"name", "a"}, {"type", "f32"}, {"shape", {2, 3}}, {"offset", 0}, {"bytes", 24}};
    Json b = {
        {"name", "b"}, {"type", "w4-affine32"}, {"shape", {4, 32}}, {"offset", 64}, {"bytes", 96}};
    b.update(change);
    const Json json = {{"weights", {a, b}}};
    const auto entries = ParseWeightIndex(json.dump(), 160, "weights.json");
    return entries ? "no error" : entries.error().what;
  };
  EXPECT_EQ(error(Json::object()), "no error");
  EXPECT_EQ(error({{"name", "a"}}), "weight 'a' appears twice");
  EXPECT_EQ(error({{"offset", 65}}), "field 'bytes' is out of range");
  EXPECT_EQ(error({{"offset", 32}}), "offset is not a multiple of 64");
  EXPECT_EQ(error({{"offset", 0}}), "weights overlap");
  EXPECT_EQ(error({{"offset", -64}}), "field 'offset' is out of range");
  EXPECT_EQ(error({{"offset", uint64_t{1} << 63}}), "bad field 'offset'");
  EXPECT_EQ(error({{"bytes", 0}}), "field 'bytes' is out of range");
  EXPECT_EQ(error({{"bytes", 97}}), "field 'bytes' is out of range");
  EXPECT_EQ(error({{"type", "f32"}}), "a weight's size does not fit its shape");
  EXPECT_EQ(error({{"type", "f31"}}), "unknown weight type 'f31'");
  EXPECT_EQ(error({{"type", "plain"}}), "unknown weight type 'plain'");
  EXPECT_EQ(error({{"shape", {4, 3200}}}), "a weight's size does not fit its shape");
  EXPECT_EQ(error({{"shape", {128}}}), "a quantised weight is not a matrix");
  EXPECT_EQ(error({{"shape", {int64_t{1} << 62, 4}}}), "the number of elements overflows");
  EXPECT_EQ(error({{"shape", {0, 4}}}), "bad field 'shape'");
  EXPECT_EQ(error({{"shape", {1, 1, 1, 1, 1, 1, 1, 1, 1}}}), "list 'shape' is too long");
}

}  // namespace
}  // namespace hexlane
