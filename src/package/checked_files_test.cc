#include "package/checked_files.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/temp_dir.h"

namespace hexlane {
namespace {

class CheckedFilesTest : public ::testing::Test {
 protected:
  void SetUp() override { Write("first"); }
  void Write(const std::string& text) { std::ofstream(file()) << text; }
  std::filesystem::path file() const { return dir_.path() / "weights.bin"; }
  std::filesystem::path list() const { return dir_.path() / "cache/checked.json"; }
  void Check() {
    CheckedFiles files(list());
    files.Add(file(), "abc");
    files.Save();
  }
  testing::TempDir dir_;
};

TEST_F(CheckedFilesTest, RemembersAFileUntilItChanges) {
  EXPECT_FALSE(CheckedFiles(list()).Has(file(), "abc"));
  Check();
  EXPECT_TRUE(CheckedFiles(list()).Has(file(), "abc"));
  EXPECT_FALSE(CheckedFiles(list()).Has(file(), "abd"));
  Write("other");  // of the same size
  EXPECT_FALSE(CheckedFiles(list()).Has(file(), "abc"));
}

TEST_F(CheckedFilesTest, AnOldTimeDoesNotHideAChange) {
  Check();
  const auto time = std::filesystem::last_write_time(file());
  Write("other");
  std::filesystem::last_write_time(file(), time);
  EXPECT_FALSE(CheckedFiles(list()).Has(file(), "abc"));
}

TEST_F(CheckedFilesTest, ADamagedListKnowsNothingAndIsWrittenAnew) {
  Check();
  std::ofstream(list()) << "{\"a";
  EXPECT_FALSE(CheckedFiles(list()).Has(file(), "abc"));
  Check();
  EXPECT_TRUE(CheckedFiles(list()).Has(file(), "abc"));
}

TEST_F(CheckedFilesTest, FilesThatAreGoneAreForgotten) {
  Check();
  std::filesystem::rename(file(), dir_.path() / "moved");
  std::ofstream(dir_.path() / "b") << "b";
  CheckedFiles files(list());
  files.Add(dir_.path() / "b", "b");
  files.Save();
  std::filesystem::rename(dir_.path() / "moved", file());
  EXPECT_FALSE(CheckedFiles(list()).Has(file(), "abc"));
}

TEST_F(CheckedFilesTest, WithoutAListNothingIsKept) {
  CheckedFiles files("");
  files.Add(file(), "abc");
  files.Save();
  EXPECT_FALSE(files.Has(file(), "abc"));
}

}  // namespace
}  // namespace hexlane
