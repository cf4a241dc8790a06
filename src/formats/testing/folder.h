// A folder for tests.
#ifndef HEXLANE_FORMATS_TESTING_FOLDER_H_
#define HEXLANE_FORMATS_TESTING_FOLDER_H_

#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <string_view>

#include "base/testing/scratch_folder.h"
#include "formats/checkpoint.h"

namespace hexlane::testing {

// A checkpoint's.
class Folder : public ScratchFolder {
 public:
  void Write(const std::string& name, std::string_view text) const {
    std::ofstream(path() / name, std::ios::binary) << text;
  }
  // What Open says.
  std::string Error(Code code) const {
    const auto result = Checkpoint::Open(path());
    if (result) return "no error";
    EXPECT_EQ(result.error().code, code);
    return result.error().ToString();
  }
};

}  // namespace hexlane::testing

#endif  // HEXLANE_FORMATS_TESTING_FOLDER_H_
