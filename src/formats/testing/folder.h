// A folder for tests.
#ifndef HEXLANE_FORMATS_TESTING_FOLDER_H_
#define HEXLANE_FORMATS_TESTING_FOLDER_H_

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "formats/checkpoint.h"

namespace hexlane::testing {

// A folder that is removed with its test.
class Folder {
 public:
  Folder() {
    std::string name = std::filesystem::temp_directory_path() / "hexlane_checkpoint_XXXXXX";
    EXPECT_NE(::mkdtemp(name.data()), nullptr);
    path_ = name;
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  void Write(const std::string& name, std::string_view text) const {
    std::ofstream(path_ / name, std::ios::binary) << text;
  }
  const std::filesystem::path& path() const { return path_; }
  // What Open says.
  std::string Error(Code code) const {
    const auto result = Checkpoint::Open(path_);
    if (result) return "no error";
    EXPECT_EQ(result.error().code, code);
    return result.error().ToString();
  }

 private:
  std::filesystem::path path_;
};

}  // namespace hexlane::testing

#endif  // HEXLANE_FORMATS_TESTING_FOLDER_H_
