// A scratch folder for tests. Header only, so that no product links it.
#ifndef HEXLANE_BASE_TEMP_DIR_H_
#define HEXLANE_BASE_TEMP_DIR_H_

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>

namespace hexlane::testing {

// A folder of its own, removed at the end.
class TempDir {
 public:
  TempDir() {
    static int count = 0;
    path_ = std::filesystem::temp_directory_path() /
            fmt::format("hexlane-test-{}-{}", ::getpid(), count++);
    std::filesystem::create_directories(path_);
  }
  ~TempDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace hexlane::testing

#endif  // HEXLANE_BASE_TEMP_DIR_H_
