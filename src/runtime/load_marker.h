// Notices that an earlier load never came to its end: a vendor's library that crashed, or stalled
// until somebody killed the process. A file is there while a load runs; one that nobody holds is of
// a load that died.
#ifndef HEXLANE_RUNTIME_LOAD_MARKER_H_
#define HEXLANE_RUNTIME_LOAD_MARKER_H_

#include <filesystem>
#include <string>
#include <string_view>

#include "hexlane/status.h"

namespace hexlane {

class LoadMarker {
 public:
  // `folder` empty: nothing is noticed. `what`: what is loaded, by which version; another `what` in
  // the same place is a new attempt. kVendor when an earlier load of the same died, unless `again`
  // is asked for. A folder that cannot be written is no failure.
  static Result<LoadMarker> Begin(const std::filesystem::path& folder, std::string_view name,
                                  std::string_view what, bool again = false);
  LoadMarker(LoadMarker&& other) noexcept;
  LoadMarker& operator=(LoadMarker&&) = delete;
  ~LoadMarker();  // the load came to its end, good or bad

 private:
  LoadMarker(std::filesystem::path file, int fd) : file_(std::move(file)), fd_(fd) {}
  std::filesystem::path file_;
  int fd_ = -1;  // locked; -1: nothing to remove
};

}  // namespace hexlane

#endif  // HEXLANE_RUNTIME_LOAD_MARKER_H_
