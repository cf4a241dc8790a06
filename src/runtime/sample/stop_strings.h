// Ends a stream of text at the first of several stop strings.
#ifndef HEXLANE_RUNTIME_SAMPLE_STOP_STRINGS_H_
#define HEXLANE_RUNTIME_SAMPLE_STOP_STRINGS_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hexlane {

// Text goes in piece by piece and comes out as soon as it cannot be part of a stop string. Where
// pieces are cut makes no difference: the stop string that ends first wins, the longest of those
// that end together.
class StopMatcher {
 public:
  explicit StopMatcher(std::vector<std::string> stops);  // empty ones are dropped

  // The text that may now be shown. After a stop: nothing.
  std::string Push(std::string_view text);

  // The text held back, when the stream ends without a stop. Starts anew for the next stream.
  std::string Finish();

  bool stopped() const { return stop_.has_value(); }
  // The stop string found; stopped() is true.
  const std::string& stop() const { return stops_[*stop_]; }

 private:
  // Where a stop string that ends at `end` begins in `text`: the longest; sets stop_.
  std::optional<size_t> MatchEndingAt(std::string_view text, size_t end);
  size_t HeldBack(std::string_view text) const;

  std::vector<std::string> stops_;  // longest first
  std::string held_;                // the end of the text so far that may begin a stop string
  std::optional<size_t> stop_;
};

}  // namespace hexlane

#endif  // HEXLANE_RUNTIME_SAMPLE_STOP_STRINGS_H_
