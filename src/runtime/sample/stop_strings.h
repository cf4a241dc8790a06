// Ends a text before any of some stop strings, wherever the pieces it comes in are cut.
#ifndef HEXLANE_RUNTIME_SAMPLE_STOP_STRINGS_H_
#define HEXLANE_RUNTIME_SAMPLE_STOP_STRINGS_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hexlane {

class StopStrings {
 public:
  // Empty ones are ignored.
  explicit StopStrings(std::span<const std::string> stop);

  // Appends the text that certainly comes before any stop string to `out`; holds back what could
  // begin one. Of several matches the earliest counts. Nothing more comes once matched().
  void Push(std::string_view piece, std::string& out);
  // The text is over: what was held back is part of it.
  void Finish(std::string& out);
  bool matched() const { return matched_; }

 private:
  size_t FindStop() const;       // where the first match begins; npos
  size_t PossibleStart() const;  // where text that may still become a match begins

  std::vector<std::string> stop_;
  std::string held_;
  bool matched_ = false;
};

}  // namespace hexlane

#endif  // HEXLANE_RUNTIME_SAMPLE_STOP_STRINGS_H_
