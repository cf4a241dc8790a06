// A folder for tests.
#ifndef HEXLANE_BASE_TESTING_SCRATCH_FOLDER_H_
#define HEXLANE_BASE_TESTING_SCRATCH_FOLDER_H_

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <string>
#include <system_error>

namespace hexlane {

// Of its own for each test, so that tests may run side by side; removed with it.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::string name = std::filesystem::temp_directory_path() / "hexlane_test.XXXXXX";
    EXPECT_NE(::mkdtemp(name.data()), nullptr);
    path_ = name;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace hexlane

#endif  // HEXLANE_BASE_TESTING_SCRATCH_FOLDER_H_
