#include "package/checked_files.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/json.h"

namespace hexlane {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxListBytes = 16u << 20;

std::string Absolute(const fs::path& file) {
  std::error_code error;
  const fs::path absolute = fs::absolute(file, error);
  return (error ? file : absolute).lexically_normal().string();
}

// What changes when the file is written or replaced; the change time cannot be set back. Empty when
// the file cannot be asked.
std::string SealOf(const fs::path& file, std::string_view sha256) {
  struct stat now = {};
  if (::stat(file.c_str(), &now) != 0) return "";
  return fmt::format("{} {}.{:09} {}.{:09} {}:{} {}", now.st_size, now.st_mtim.tv_sec,
                     now.st_mtim.tv_nsec, now.st_ctim.tv_sec, now.st_ctim.tv_nsec, now.st_dev,
                     now.st_ino, sha256);
}

}  // namespace

CheckedFiles::CheckedFiles(fs::path list) : list_(std::move(list)) {
  if (list_.empty()) return;
  const auto text = ReadTextFile(list_, kMaxListBytes);
  if (!text) return;
  const auto json = ParseJson(*text, list_.string());
  if (!json || !json->is_object()) return;
  for (const auto& [file, seal] : json->items())
    if (seal.is_string()) seals_.emplace(file, seal.get<std::string>());
}

bool CheckedFiles::Has(const fs::path& file, std::string_view sha256) const {
  const auto it = seals_.find(Absolute(file));
  return it != seals_.end() && it->second == SealOf(file, sha256);
}

void CheckedFiles::Add(const fs::path& file, std::string_view sha256) {
  const std::string seal = SealOf(file, sha256);
  if (list_.empty() || seal.empty()) return;
  seals_[Absolute(file)] = seal;
  changed_ = true;
}

void CheckedFiles::Save() {
  if (!changed_) return;
  std::error_code error;
  for (auto it = seals_.begin(); it != seals_.end();)  // packages that are gone
    it = fs::exists(it->first, error) ? std::next(it) : seals_.erase(it);
  fs::create_directories(list_.parent_path(), error);
  (void)WriteFileAtomically(list_, Json(seals_).dump());
  changed_ = false;
}

}  // namespace hexlane
