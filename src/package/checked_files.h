// Files whose SHA-256 was compared, so that it is done once until they change.
#ifndef HEXLANE_PACKAGE_CHECKED_FILES_H_
#define HEXLANE_PACKAGE_CHECKED_FILES_H_

#include <filesystem>
#include <map>
#include <string>
#include <string_view>

namespace hexlane {

// A cache: where its own file cannot be read or written, everything is compared again.
class CheckedFiles {
 public:
  // `list` may be empty: nothing is known and nothing kept.
  explicit CheckedFiles(std::filesystem::path list);

  // Whether `file`, as it is now, had this hash when it was compared.
  bool Has(const std::filesystem::path& file, std::string_view sha256) const;
  void Add(const std::filesystem::path& file, std::string_view sha256);
  void Save();  // if anything was added

 private:
  std::filesystem::path list_;
  std::map<std::string, std::string> seals_;  // absolute path → size, times, inode, hash
  bool changed_ = false;
};

}  // namespace hexlane

#endif  // HEXLANE_PACKAGE_CHECKED_FILES_H_
