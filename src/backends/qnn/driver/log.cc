#include "backends/qnn/driver/log.h"

#include <algorithm>
#include <cstdio>
#include <string_view>

namespace hexlane::qnn {
namespace {

LogRing process_ring;
LogRing* current_ring = &process_ring;

// "unexpected GraphHtpSettings option 66" comes at every finalize and means nothing.
bool IsNoise(std::string_view line) {
  return line.empty() || line.find("unexpected GraphHtpSettings") != line.npos;
}

}  // namespace

void LogRing::Add(const char* format, va_list args) {
  char line[kChars];
  std::vsnprintf(line, sizeof line, format, args);
  for (char& c : line)
    if (c == '\n') c = ' ';
  std::string_view text(line);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  if (IsNoise(text)) return;
  auto& slot = lines_[next_.fetch_add(1) % kLines];
  std::copy(text.begin(), text.end(), slot.begin());
  slot[std::min<size_t>(text.size(), kChars - 1)] = '\0';
}

std::string LogRing::Lines() const {
  const unsigned end = next_;
  std::string joined;
  for (unsigned i = end > kLines ? end - kLines : 0; i < end; ++i) {
    if (!joined.empty()) joined += " | ";
    joined += lines_[i % kLines].data();
  }
  return joined;
}

LogRing& RecentLog() { return *current_ring; }
void PlaceRecentLog(LogRing* ring) { current_ring = ring; }

void OnLibraryLog(const char* format, abi::LogLevel level, uint64_t, va_list args) {
  if (level == abi::LogLevel::kError) RecentLog().Add(format, args);
}

}  // namespace hexlane::qnn
