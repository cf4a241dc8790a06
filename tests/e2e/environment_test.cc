// Outputs that cannot be written, interruptions, missing libraries: the right exit code, no debris.
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cstring>

#include "models.h"

namespace hexlane::e2e {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Arguments TinyConvert(const std::string& output) {
  Arguments arguments = {"convert", TinyCheckpoint(), "-o", output, "--quant", "f16"};
  for (const std::string& option : TinyOptions()) arguments.push_back(option);
  return arguments;
}

// A file system in memory for the life of the object; needs the right to mount.
class MemoryDisk {
 public:
  MemoryDisk(fs::path path, const char* size, unsigned long flags) : path_(std::move(path)) {
    fs::create_directory(path_);
    mounted_ = ::mount("tmpfs", path_.c_str(), "tmpfs", flags, size) == 0;
  }
  ~MemoryDisk() {
    if (mounted_) ::umount2(path_.c_str(), MNT_DETACH);
  }
  bool mounted() const { return mounted_; }

 private:
  fs::path path_;
  bool mounted_ = false;
};

class Environment : public ScratchTest {};

TEST_F(Environment, OutputsThatBelongToSomebodyElseStayUntouched) {
  WriteFile(Path("file"), "mine");
  fs::create_directory(Path("folder"));
  WriteFile(Path("folder/thesis.txt"), "mine");
  ExpectRefused(RunCli(TinyConvert(Path("file"))), 3, {"/file", "not a folder"});
  ExpectRefused(RunCli(TinyConvert(Path("folder"))), 3, {"/folder", "other files"});
  ExpectRefused(
      RunCli({"dump", TinyCheckpoint(), "--ids", "1", "--stage", "float", "-o", Path("folder")}), 3,
      {"/folder", "other files"});
  EXPECT_EQ(ReadFile(Path("file")), "mine");
  EXPECT_EQ(ReadFile(Path("folder/thesis.txt")), "mine");
  EXPECT_THAT(Listing(), ElementsAre("file", "folder"));
}

TEST_F(Environment, ADumpDoesNotReplaceAPackage) {
  ASSERT_EQ(RunCli(TinyConvert(Path("package"))).exit_code, 0);
  ExpectRefused(RunCli({"dump", Path("package"), "--ids", "1", "-o", Path("package")}), 3,
                {"/package"});
  EXPECT_EQ(RunCli({"inspect", Path("package")}).exit_code, 0);
}

TEST_F(Environment, AManifestDoesNotMakeAFolderOurs) {
  fs::create_directory(Path("web"));
  WriteFile(Path("web/manifest.json"), R"({"name": "my extension"})");
  WriteFile(Path("web/photo.jpg"), "mine");
  ExpectRefused(RunCli(TinyConvert(Path("web"))), 3, {"/web", "other files", "another output"});
  ASSERT_EQ(RunCli(TinyConvert(Path("package"))).exit_code, 0);
  WriteFile(Path("package/notes.txt"), "mine");
  Arguments again = TinyConvert(Path("package"));
  again.push_back("--force");
  ExpectRefused(RunCli(again), 3, {"/package", "notes.txt"});
  EXPECT_EQ(ReadFile(Path("web/photo.jpg")), "mine");
  EXPECT_EQ(ReadFile(Path("package/notes.txt")), "mine");
  fs::remove(Path("package/notes.txt"));
  EXPECT_EQ(RunCli(again).exit_code, 0);
}

TEST_F(Environment, ADumpDoesNotReplaceOtherArrays) {
  const Arguments dump = {"dump", TinyCheckpoint(), "--ids",   "1",
                          "-o",   Path("dump"),     "--stage", "float"};
  EXPECT_EQ(RunCli(dump).exit_code, 0);
  EXPECT_EQ(RunCli(dump).exit_code, 0) << "an earlier dump is replaced";
  WriteFile(Path("dump/experiment.npy"), "mine");
  ExpectRefused(RunCli(dump), 3, {"/dump", "experiment.npy"});
}

TEST_F(Environment, OutputsThatARenameCannotReplaceAreRefusedBeforeTheWork) {
  fs::create_directory_symlink("nowhere", Path("link"));
  ExpectRefused(RunCli(TinyConvert("/proc")), 3, {"mount point", "/proc/out"});
  ExpectRefused(RunCli(TinyConvert(Path("link"))), 3, {"/link", "remove the link"});
  fs::create_directory(Path("empty"));
  ExpectRefused(RunCli(TinyConvert("."), {.folder = Path("empty")}), 3, {"working directory"});
  const std::string model = CopyTinyModel("model");
  Arguments onto = TinyConvert(model);
  onto[1] = model;
  ExpectRefused(RunCli(onto), 3, {"is the input", "model"});
  EXPECT_THAT(Listing(), ElementsAre("empty", "link", "model"));
}

TEST_F(Environment, ALimitOnFileSizesIsSaidSo) {
  Arguments arguments = {"-c", "ulimit -f 8; exec \"$0\" \"$@\"", HEXLANE_BINARY};
  for (const std::string& argument : TinyConvert(Path("out"))) arguments.push_back(argument);
  ExpectRefused(RunCli(arguments, {.program = "/bin/sh"}), 4, {"ulimit -f"});
  EXPECT_THAT(Listing(), IsEmpty());
}

TEST_F(Environment, FilesOfNoKnownKindNeedNoLibrary) {
  for (const char* name : {"letter.txt", "data.bin"}) {
    WriteFile(Path(name), "{\"dear\": 1}");
    ExpectRefused(RunCli({"inspect", Path(name), "--qnn", "/nonexistent"}), 3,
                  {name, "not a kind of file", ".gguf", "(.bin)"});
  }
}

TEST_F(Environment, FoldersThatCannotBeWritten) {
  for (const char* output : {"/proc/hexlane", "/sys/hexlane"})
    ExpectRefused(RunCli(TinyConvert(output)), 4, {output, "cannot create folder"});
}

TEST_F(Environment, AReadOnlyDiskIsSaidSo) {
  const MemoryDisk disk(Path("disk"), "size=1m", MS_RDONLY);
  if (!disk.mounted()) GTEST_SKIP() << "needs the right to mount: " << std::strerror(errno);
  ExpectRefused(RunCli(TinyConvert(Path("disk/out"))), 4, {"read-only", "another folder"});
}

TEST_F(Environment, AFullDiskIsSaidSoAndNothingIsLeft) {
  const MemoryDisk disk(Path("disk"), "size=256k", 0);
  if (!disk.mounted()) GTEST_SKIP() << "needs the right to mount: " << std::strerror(errno);
  ExpectRefused(RunCli(TinyConvert(Path("disk/out"))), 4, {"disk is full"});
  EXPECT_THAT(FilesOf(Path("disk")), IsEmpty());
  EXPECT_TRUE(fs::is_empty(Path("disk")));
}

TEST_F(Environment, AMissingLibraryIsSaidWithThePlacesAndTheRemedy) {
  Arguments arguments = TinyConvert(Path("out"));
  arguments.insert(arguments.end(), {"--soc", "SM8650", "--qnn", "/nonexistent"});
  ExpectRefused(RunCli(arguments), 4, {"/nonexistent", "tools/setup.sh", "HEXLANE_QNN"});
  EXPECT_THAT(Listing(), IsEmpty());
}

// ---- interruptions

Arguments SmolConvert(const std::string& output) {
  return {"convert", SmolModel(), "-o", output, "--quant", "w8a16", "--context", "256"};
}

TEST_F(Environment, InterruptedConversionsLeaveNothing) {
  for (const int signal : {SIGINT, SIGTERM}) {
    for (const double after : {0.1, 0.5, 1.5}) {
      const CliResult result =
          RunCli(SmolConvert(Path("deep/out")), {.signal = signal, .signal_after = after});
      if (result.exit_code == 0) {  // it was done before
        fs::remove_all(Path("deep"));
        continue;
      }
      EXPECT_TRUE(result.exit_code == 130 || result.signal == signal)
          << signal << " after " << after << ": " << result.err;
      EXPECT_FALSE(fs::exists(Path("deep"))) << "debris";
    }
  }
}

TEST_F(Environment, InterruptedConversionsKeepTheOlderPackage) {
  const std::string package = SmolPackage();
  const std::string manifest = ReadFile(fs::path(package) / "manifest.json");
  const CliResult result = RunCli(SmolConvert(package), {.signal = SIGINT, .signal_after = 0.5});
  EXPECT_EQ(result.exit_code, 130) << result.err;
  EXPECT_EQ(ReadFile(fs::path(package) / "manifest.json"), manifest);
  EXPECT_THAT(Listing(), ElementsAre("smol"));
}

TEST_F(Environment, LongWorkCanBeInterrupted) {
  const std::string package = SmolPackage();
  const std::string prose = TestData() / "text/prose.txt";
  const Arguments works[] = {
      {"eval", package, "--text", prose},
      {"eval", package, "--text", prose, "--stage", "quant"},
      {"run", package, "-p", "Once upon a time", "--ignore-eos"},
      {"bench", package, "--repetitions", "100"},
      {"dump", package, "-p", "Once upon a time", "--stage", "float", "-o", Path("dump")}};
  for (const Arguments& work : works) {
    const CliResult result = RunCli(work, {.signal = SIGINT, .signal_after = 0.5, .timeout = 60});
    SCOPED_TRACE(testing::PrintToString(work));
    if (work[0] == "dump" && result.exit_code == 0) continue;  // done before
    EXPECT_EQ(result.exit_code, 130) << result.err;
    EXPECT_THAT(result.err, HasSubstr("interrupted"));
    EXPECT_LT(result.seconds, 30);
  }
  EXPECT_THAT(Listing(), ElementsAre("smol"));
}

TEST_F(Environment, AKilledConversionLeavesAHiddenFolderThatIsRemovedLater) {
  const CliResult killed =
      RunCli(SmolConvert(Path("out")), {.signal = SIGKILL, .signal_after = 0.5});
  ASSERT_EQ(killed.signal, SIGKILL);
  for (const std::string& name : Listing()) {
    EXPECT_THAT(name, testing::StartsWith(".out."));
    const auto long_ago = fs::file_time_type::clock::now() - std::chrono::hours(1);
    for (const auto& entry : fs::recursive_directory_iterator(scratch()))
      fs::last_write_time(entry.path(), long_ago);
  }
  ASSERT_EQ(RunCli(TinyConvert(Path("out"))).exit_code, 0);
  EXPECT_THAT(Listing(), ElementsAre("out"));
}

}  // namespace
}  // namespace hexlane::e2e
