// The library's last error lines, kept for error messages. The library's log callback has no user
// argument, so the store is process-wide; it is plain memory, so that RunInChild can place it in
// memory shared with the parent and the lines survive a crash.
#ifndef HEXLANE_BACKENDS_QNN_DRIVER_LOG_H_
#define HEXLANE_BACKENDS_QNN_DRIVER_LOG_H_

#include <array>
#include <atomic>
#include <string>

#include "backends/qnn/driver/abi.h"

namespace hexlane::qnn {

class LogRing {
 public:
  void Add(const char* format, va_list args);
  void Clear() { next_ = 0; }
  std::string Lines() const;  // oldest first, joined by " | "; empty when there are none

 private:
  static constexpr unsigned kLines = 6;
  static constexpr unsigned kChars = 400;
  std::atomic<unsigned> next_ =
      0;  // lines written so far; a torn line from two threads is only cosmetic
  std::array<std::array<char, kChars>, kLines> lines_ = {};
};

LogRing& RecentLog();
void PlaceRecentLog(LogRing* ring);  // from now on use this one

// For logCreate: keeps error lines in RecentLog().
void OnLibraryLog(const char* format, abi::LogLevel level, uint64_t timestamp, va_list args);

}  // namespace hexlane::qnn

#endif  // HEXLANE_BACKENDS_QNN_DRIVER_LOG_H_
