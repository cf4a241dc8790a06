#include "base/file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "base/testing/scratch_folder.h"

namespace hexlane {
namespace {
namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class FileTest : public testing::Test {
 protected:
  fs::path Path(std::string_view name) const { return folder_ / name; }
  void Put(std::string_view name, std::string_view text) const {
    fs::create_directories(Path(name).parent_path());
    ASSERT_TRUE(WriteFileAtomically(Path(name), text));
  }
  std::string Text(std::string_view name) const { return *ReadTextFile(Path(name)); }
  // Every file and folder below the test's folder, sorted.
  std::vector<std::string> Tree() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::recursive_directory_iterator(folder_))
      names.push_back(entry.path().lexically_relative(folder_).string());
    std::sort(names.begin(), names.end());
    return names;
  }

  const ScratchFolder scratch_;
  const fs::path folder_ = scratch_.path();
};

// An earlier result has a manifest, which lists nothing but itself and "only_in_old".
Result<std::vector<std::string>> ListManifest(const fs::path& folder) {
  if (!fs::exists(folder / "manifest.json")) return NotFound("no manifest");
  return std::vector<std::string>{"manifest.json", "only_in_old"};
}
const StagedDirectory::Options kReplacing = {.earlier = ListManifest};

std::span<const std::byte> Bytes(std::string_view text) { return std::as_bytes(std::span(text)); }

TEST_F(FileTest, MapsAWholeFile) {
  Put("a", "hello");
  const auto file = *MappedFile::Open(Path("a"));
  EXPECT_EQ(file->bytes().size(), 5u);
  EXPECT_EQ(static_cast<char>(file->bytes()[4]), 'o');
}

TEST_F(FileTest, MapsAnEmptyFileToAnEmptySpan) {
  Put("a", "");
  EXPECT_TRUE((*MappedFile::Open(Path("a")))->bytes().empty());
  EXPECT_EQ(Text("a"), "");
}

TEST_F(FileTest, NamesAFileThatIsNotThere) {
  const auto result = MappedFile::Open(Path("absent"));
  EXPECT_EQ(result.error().code, Code::kNotFound);
  EXPECT_THAT(result.error().ToString(), HasSubstr("absent"));
  Put("a", "x");
  EXPECT_EQ(MappedFile::Open(Path("a/b")).error().code, Code::kNotFound);
}

TEST_F(FileTest, RefusesFoldersAndPipes) {
  EXPECT_EQ(MappedFile::Open(folder_).error().code, Code::kInvalidInput);
  ASSERT_EQ(::mkfifo(Path("pipe").c_str(), 0600), 0);
  EXPECT_EQ(MappedFile::Open(Path("pipe")).error().code, Code::kInvalidInput);
}

TEST_F(FileTest, RefusesATextFileAboveTheLimit) {
  Put("a", "12345");
  EXPECT_EQ(*ReadTextFile(Path("a"), 5), "12345");
  EXPECT_EQ(ReadTextFile(Path("a"), 4).error().code, Code::kInvalidInput);
}

TEST_F(FileTest, WriterCountsAndPads) {
  auto writer = *FileWriter::Create(Path("a"));
  ASSERT_TRUE(writer.Write(Bytes("abc")));
  ASSERT_TRUE(writer.PadTo(8));
  ASSERT_TRUE(writer.PadTo(8));
  EXPECT_EQ(writer.position(), 8u);
  ASSERT_TRUE(writer.Write(Bytes("d")));
  ASSERT_TRUE(writer.Close());
  EXPECT_EQ(Text("a"), std::string("abc\0\0\0\0\0d", 9));
}

TEST_F(FileTest, WriterReportsAFullDisk) {
  auto writer = *FileWriter::Create("/dev/full");
  const Result<void> result = writer.Write(Bytes("abc"));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Code::kIo);
  EXPECT_THAT(result.error().remedy, HasSubstr("disk is full"));
}

TEST_F(FileTest, WriterReportsAFolderThatIsNotThere) {
  EXPECT_EQ(FileWriter::Create(Path("absent/a")).error().code, Code::kNotFound);
}

TEST_F(FileTest, AtomicWriteReplacesAndLeavesNothingElse) {
  Put("a", "old");
  Put("a", "new text");
  EXPECT_EQ(Text("a"), "new text");
  EXPECT_THAT(Tree(), ElementsAre("a"));
}

TEST_F(FileTest, AtomicWriteThatFailsLeavesTheOldFile) {
  fs::create_directory(Path("folder"));
  EXPECT_FALSE(WriteFileAtomically(Path("folder"), "text"));
  EXPECT_EQ(WriteFileAtomically(Path("absent/a"), "text").error().code, Code::kNotFound);
  EXPECT_THAT(Tree(), ElementsAre("folder"));
}

TEST_F(FileTest, AtomicWriteFollowsALink) {
  Put("real", "old");
  fs::create_symlink("real", Path("link"));
  ASSERT_TRUE(WriteFileAtomically(Path("link"), "new"));
  EXPECT_TRUE(fs::is_symlink(Path("link")));
  EXPECT_EQ(Text("real"), "new");
}

TEST_F(FileTest, AtomicWriteDoesNotReplaceADevice) {
  EXPECT_TRUE(WriteFileAtomically("/dev/null", "text"));
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  EXPECT_EQ(WriteFileAtomically("/dev/full", "text").error().code, Code::kIo);
}

TEST_F(FileTest, StagedDirectoryAppearsOnCommitOnly) {
  auto staged = *StagedDirectory::Create(Path("out"));
  ASSERT_TRUE(WriteFileAtomically(staged.path() / "a", "1"));
  EXPECT_FALSE(fs::exists(Path("out")));
  ASSERT_TRUE(staged.Commit());
  EXPECT_THAT(Tree(), ElementsAre("out", "out/a"));
}

TEST_F(FileTest, WriterContinuesAfterAPosition) {
  Put("a", "12345");
  auto writer = *FileWriter::Continue(Path("a"), 3);
  EXPECT_EQ(writer.position(), 3u);
  ASSERT_TRUE(writer.Write(std::as_bytes(std::span("xy", 2))));
  ASSERT_TRUE(writer.Close());
  EXPECT_EQ(Text("a"), "123xy");
  EXPECT_EQ(FileWriter::Continue(Path("a"), 6).error().code, Code::kCorrupt);
  EXPECT_EQ(FileWriter::Continue(Path("none"), 0).error().code, Code::kNotFound);
}

TEST_F(FileTest, StagedDirectoryVanishesWithoutCommit) {
  {
    auto staged = *StagedDirectory::Create(Path("deep/er/out"));
    ASSERT_TRUE(WriteFileAtomically(staged.path() / "a", "1"));
    const StagedDirectory moved = std::move(staged);
    EXPECT_TRUE(fs::exists(moved.path() / "a"));
  }
  EXPECT_THAT(Tree(), IsEmpty());
}

TEST_F(FileTest, StagedDirectoryRemovesWhatAKilledProcessLeft) {
  const pid_t child = ::fork();
  if (child == 0) {
    const auto staged = StagedDirectory::Create(Path("out"));
    std::_Exit(staged ? 0 : 1);  // no destructor
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  ASSERT_EQ(status, 0);
  ASSERT_EQ(Tree().size(), 1u);
  const fs::path left = Path(Tree()[0]);
  Put(".out.x.tmp/file", "somebody's");
  EXPECT_TRUE(StagedDirectory::Create(Path("out")));
  EXPECT_TRUE(fs::exists(left)) << "perhaps in use";
  fs::last_write_time(left, fs::file_time_type::clock::now() - std::chrono::minutes(2));
  EXPECT_TRUE(StagedDirectory::Create(Path("out")));
  EXPECT_THAT(Tree(), ElementsAre(".out.x.tmp", ".out.x.tmp/file"));
}

TEST_F(FileTest, StagedDirectoryTakesUpWhatAKilledProcessLeftOfTheSameKey) {
  constexpr std::string_view kOne = "0123abcd", kTwo = "4567abcd";
  fs::create_directories(Path(".out.mine.partial"));  // somebody's
  const auto begin = [this](std::string_view key) {
    const pid_t child = ::fork();
    if (child == 0) {
      const auto staged = StagedDirectory::Create(Path("out"), {.key = key});
      std::_Exit(staged && WriteFileAtomically(staged->path() / key, "1") ? 0 : 1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return status == 0;
  };
  ASSERT_TRUE(begin(kOne));
  {
    auto again = *StagedDirectory::Create(Path("out"), {.key = kOne});
    EXPECT_TRUE(again.resumed());
    EXPECT_TRUE(fs::exists(again.path() / kOne));
    again.Keep();
  }
  EXPECT_TRUE(fs::exists(Path(".out.0123abcd.partial/0123abcd")));
  auto other = *StagedDirectory::Create(Path("out"), {.key = kTwo});
  EXPECT_FALSE(other.resumed());
  EXPECT_FALSE(fs::exists(Path(".out.0123abcd.partial"))) << "of other options: removed";
  ASSERT_TRUE(other.Commit());
  EXPECT_THAT(Tree(), ElementsAre(".out.mine.partial", "out"));
}

TEST_F(FileTest, StagedDirectoryIsWrittenByOneProcessUnlessShared) {
  auto first = *StagedDirectory::Create(Path("out"), {.key = "k", .shared = true});
  auto second = StagedDirectory::Create(Path("out"), {.key = "k", .shared = true});
  ASSERT_TRUE(second);
  second->Keep();
  const auto refused = StagedDirectory::Create(Path("out"), {.key = "k"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kIo);
  EXPECT_TRUE(fs::exists(first.path())) << "the refused one removed it";
}

TEST_F(FileTest, StagedDirectoryTakesARelativeName) {
  const fs::path before = fs::current_path();
  fs::current_path(Path(""));
  for (const char* name : {"out", "./deep/out/"}) {
    auto staged = StagedDirectory::Create(name);
    EXPECT_TRUE(staged && staged->Commit()) << name;
  }
  fs::current_path(before);
  EXPECT_THAT(Tree(), ElementsAre("deep", "deep/out", "out"));
}

TEST_F(FileTest, StagedDirectoryKeepsAParentThatOthersUse) {
  {
    auto staged = *StagedDirectory::Create(Path("deep/out"));
    Put("deep/other", "x");
  }
  EXPECT_THAT(Tree(), ElementsAre("deep", "deep/other"));
}

TEST_F(FileTest, StagedDirectoryReplacesAnEarlierResult) {
  Put("out/manifest.json", "old");
  Put("out/only_in_old", "x");
  auto staged = *StagedDirectory::Create(Path("out/"), kReplacing);
  ASSERT_TRUE(WriteFileAtomically(staged.path() / "manifest.json", "new"));
  EXPECT_EQ(Text("out/manifest.json"), "old");
  ASSERT_TRUE(staged.Commit());
  EXPECT_EQ(Text("out/manifest.json"), "new");
  EXPECT_THAT(Tree(), ElementsAre("out", "out/manifest.json"));
}

TEST_F(FileTest, StagedDirectoryReplacesTheEarlierResultBehindALink) {
  Put("real/manifest.json", "old");
  fs::create_directory_symlink("real", Path("link"));
  auto staged = *StagedDirectory::Create(Path("link"), kReplacing);
  ASSERT_TRUE(WriteFileAtomically(staged.path() / "manifest.json", "new"));
  ASSERT_TRUE(staged.Commit());
  EXPECT_TRUE(fs::is_symlink(Path("link")));
  EXPECT_EQ(Text("real/manifest.json"), "new");
}

TEST_F(FileTest, StagedDirectoryRefusesSomebodysData) {
  Put("home/thesis.txt", "precious");
  Put("file", "x");
  for (const char* target : {"home", "home/.", "file"}) {
    const auto result = StagedDirectory::Create(Path(target));
    ASSERT_FALSE(result) << target;
    EXPECT_EQ(result.error().code, Code::kInvalidInput);
  }
  EXPECT_THAT(Tree(), ElementsAre("file", "home", "home/thesis.txt"));
}

TEST_F(FileTest, StagedDirectoryNamesAFileThatAnEarlierResultDoesNotHave) {
  Put("site/manifest.json", "somebody's web site");
  Put("site/deep/photo.jpg", "precious");
  const auto result = StagedDirectory::Create(Path("site"), kReplacing);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Code::kInvalidInput);
  EXPECT_EQ(result.error().got, "deep/photo.jpg");
  Put("home/manifest.json", "x");
  const auto unlisted = StagedDirectory::Create(Path("home"));
  ASSERT_FALSE(unlisted);
  EXPECT_EQ(unlisted.error().got, "manifest.json");
}

TEST_F(FileTest, StagedDirectorySparesFilesThatCameDuringTheWork) {
  Put("out/manifest.json", "old");
  auto staged = *StagedDirectory::Create(Path("out"), kReplacing);
  Put("out/thesis.txt", "precious");
  const auto result = staged.Commit();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().got, "thesis.txt");
  EXPECT_EQ(Text("out/thesis.txt"), "precious");
}

TEST_F(FileTest, StagedDirectoryStaysApartFromItsInput) {
  Put("model/manifest.json", "x");
  for (const char* target : {"model", "model/out", ""}) {
    const auto result =
        StagedDirectory::Create(Path(target), {.earlier = ListManifest, .inputs = {Path("model")}});
    ASSERT_FALSE(result) << target;
    EXPECT_THAT(result.error().got, HasSubstr("model"));
  }
  EXPECT_TRUE(StagedDirectory::Create(Path("model2"), {.inputs = {Path("model")}}));
}

TEST_F(FileTest, StagedDirectoryRefusesWhatARenameCannotReplace) {
  fs::create_directory_symlink("nowhere", Path("link"));
  EXPECT_THAT(StagedDirectory::Create(Path("link")).error().what, HasSubstr("link to a folder"));
  EXPECT_THAT(StagedDirectory::Create("/proc").error().what, HasSubstr("mount point"));
  const fs::path before = fs::current_path();
  fs::create_directory(Path("here"));
  fs::current_path(Path("here"));
  EXPECT_THAT(StagedDirectory::Create(".").error().what, HasSubstr("working directory"));
  fs::current_path(before);
  EXPECT_THAT(Tree(), ElementsAre("here", "link"));
}

TEST_F(FileTest, StagedDirectoryAcceptsAnEmptyFolder) {
  fs::create_directory(Path("empty"));
  EXPECT_TRUE(StagedDirectory::Create(Path("empty")));
}

TEST_F(FileTest, AFailedCommitLeavesTheOldResult) {
  Put("out/manifest.json", "old");
  {
    auto staged = *StagedDirectory::Create(Path("out"), kReplacing);
    fs::remove_all(staged.path());  // what a failing disk or another program may do
    EXPECT_FALSE(staged.Commit());
  }
  EXPECT_EQ(Text("out/manifest.json"), "old");
  EXPECT_THAT(Tree(), ElementsAre("out", "out/manifest.json"));
}

TEST_F(FileTest, TwoStagedDirectoriesOfOneTargetDoNotMeet) {
  auto first = *StagedDirectory::Create(Path("out"), kReplacing);
  auto second = *StagedDirectory::Create(Path("out"), kReplacing);
  ASSERT_TRUE(WriteFileAtomically(first.path() / "manifest.json", "1"));
  ASSERT_TRUE(WriteFileAtomically(second.path() / "manifest.json", "2"));
  ASSERT_TRUE(first.Commit());
  ASSERT_TRUE(second.Commit());
  EXPECT_EQ(Text("out/manifest.json"), "2");
  EXPECT_THAT(Tree(), ElementsAre("out", "out/manifest.json"));
}

// Root passes every permission bit, so the attempt is made as nobody, in a process of its own.
TEST_F(FileTest, AReadOnlyFolderIsAnIoErrorWithARemedy) {
  fs::create_directory(Path("readonly"));
  fs::permissions(folder_, fs::perms(0755));
  fs::permissions(Path("readonly"), fs::perms(0555));
  const auto attempt = [&] {
    if (::geteuid() == 0 && ::seteuid(65534) != 0) std::_Exit(2);
    const auto staged = StagedDirectory::Create(Path("readonly/out"));
    const auto written = WriteFileAtomically(Path("readonly/a"), "x");
    const bool good = !staged && staged.error().code == Code::kIo && !written &&
                      written.error().code == Code::kIo &&
                      written.error().remedy.find("permission") != std::string::npos;
    std::_Exit(good ? 0 : 1);
  };
  EXPECT_EXIT(attempt(), testing::ExitedWithCode(0), "");
  EXPECT_THAT(Tree(), ElementsAre("readonly"));
}

TEST_F(FileTest, Sha256AgreesWithThePublishedVectors) {  // FIPS 180-2, appendix B
  constexpr std::string_view kAbc =
      "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
  EXPECT_EQ(Sha256(Bytes("abc")), kAbc);
  Put("a", "abc");
  EXPECT_EQ(*Sha256File(Path("a")), kAbc);
  Put("empty", "");
  EXPECT_EQ(*Sha256File(Path("empty")),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

}  // namespace
}  // namespace hexlane
