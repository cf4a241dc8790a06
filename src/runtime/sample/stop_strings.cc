#include "runtime/sample/stop_strings.h"

#include <algorithm>

namespace hexlane {

StopMatcher::StopMatcher(std::vector<std::string> stops) : stops_(std::move(stops)) {
  std::erase(stops_, "");
  std::sort(stops_.begin(), stops_.end(), [](const std::string& a, const std::string& b) {
    return a.size() != b.size() ? a.size() > b.size() : a < b;
  });
}

std::optional<size_t> StopMatcher::MatchEndingAt(std::string_view text, size_t end) {
  const std::string_view before = text.substr(0, end);
  for (size_t i = 0; i < stops_.size(); ++i) {
    if (!before.ends_with(stops_[i])) continue;
    stop_ = i;
    return end - stops_[i].size();
  }
  return std::nullopt;
}

// The longest end of `text` that is a proper beginning of a stop string.
size_t StopMatcher::HeldBack(std::string_view text) const {
  if (stops_.empty()) return 0;
  for (size_t size = std::min(text.size(), stops_[0].size() - 1); size > 0; --size)
    for (const std::string& stop : stops_)
      if (stop.size() > size && std::string_view(stop).starts_with(text.substr(text.size() - size)))
        return size;
  return 0;
}

std::string StopMatcher::Push(std::string_view text) {
  if (stopped()) return {};
  const size_t seen = held_.size();
  std::string all = std::move(held_);
  all += text;
  held_.clear();
  for (size_t end = seen + 1; end <= all.size(); ++end) {
    const std::optional<size_t> begin = MatchEndingAt(all, end);
    if (begin) return all.substr(0, *begin);
  }
  const size_t shown = all.size() - HeldBack(all);
  held_ = all.substr(shown);
  all.resize(shown);
  return all;
}

std::string StopMatcher::Finish() {
  std::string rest = std::move(held_);
  held_.clear();
  stop_.reset();
  return rest;
}

}  // namespace hexlane
