#include "runtime/sample/stop_strings.h"

#include <algorithm>

namespace hexlane {

StopStrings::StopStrings(std::span<const std::string> stop) {
  for (const std::string& text : stop)
    if (!text.empty()) stop_.push_back(text);
}

void StopStrings::Push(std::string_view piece, std::string& out) {
  if (matched_) return;
  held_ += piece;
  size_t certain = FindStop();
  matched_ = certain != std::string::npos;
  if (!matched_) certain = PossibleStart();
  out.append(held_, 0, certain);
  matched_ ? held_.clear() : void(held_.erase(0, certain));
}

void StopStrings::Finish(std::string& out) {
  out += held_;
  held_.clear();
}

size_t StopStrings::FindStop() const {
  size_t first = std::string::npos;
  for (const std::string& stop : stop_) first = std::min(first, held_.find(stop));
  return first;
}

size_t StopStrings::PossibleStart() const {
  size_t start = held_.size();
  for (const std::string& stop : stop_) {
    const size_t longest = std::min(stop.size() - 1, held_.size());
    for (size_t n = longest; n > 0; --n) {
      if (!held_.ends_with(std::string_view(stop).substr(0, n))) continue;
      start = std::min(start, held_.size() - n);
      break;
    }
  }
  return start;
}

}  // namespace hexlane
