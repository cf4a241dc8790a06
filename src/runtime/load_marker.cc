#include "runtime/load_marker.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <utility>

namespace hexlane {
namespace {

std::string Content(int fd) {
  std::string text(4096, 0);
  const ssize_t size = ::pread(fd, text.data(), text.size(), 0);
  text.resize(size > 0 ? static_cast<size_t>(size) : 0);
  return text;
}

bool WriteContent(int fd, std::string_view what) {
  return ::ftruncate(fd, 0) == 0 &&
         ::pwrite(fd, what.data(), what.size(), 0) == static_cast<ssize_t>(what.size()) &&
         ::fsync(fd) == 0;
}

}  // namespace

Result<LoadMarker> LoadMarker::Begin(const std::filesystem::path& folder, std::string_view name,
                                     std::string_view what, bool again) {
  if (folder.empty()) return LoadMarker("", -1);
  std::error_code ignored;
  std::filesystem::create_directories(folder, ignored);
  std::filesystem::path file = folder / fmt::format("loading-{}", name);
  const int fd = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return LoadMarker("", -1);
  LoadMarker marker(std::move(file), fd);
  // The system lets go of the lock when its process dies. Held: another load runs at this moment.
  if (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
    ::close(std::exchange(marker.fd_, -1));
    return marker;
  }
  if (!again && Content(fd) == what) {
    ::close(std::exchange(marker.fd_, -1));
    return Vendor("an earlier load of this did not come to its end: it crashed or was killed")
        .At("{}", marker.file_.string())
        .Remedy("Ask for it by name to try again, or remove that file");
  }
  if (!WriteContent(fd, what)) ::unlink(marker.file_.c_str());
  return marker;
}

LoadMarker::LoadMarker(LoadMarker&& other) noexcept
    : file_(std::move(other.file_)), fd_(std::exchange(other.fd_, -1)) {}

LoadMarker::~LoadMarker() {
  if (fd_ < 0) return;
  ::unlink(file_.c_str());
  ::close(fd_);
}

}  // namespace hexlane
