// Cutting a text at the matches of a pattern.
#ifndef HEXLANE_RUNTIME_TOKENIZER_SPLIT_H_
#define HEXLANE_RUNTIME_TOKENIZER_SPLIT_H_

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "hexlane/status.h"
#include "runtime/tokenizer/regex.h"

namespace hexlane::tokenizer {

// A literal or a regular expression: {"String": …} or {"Regex": …}.
class Pattern {
 public:
  // object[key].
  static Result<Pattern> FromJson(const Json& object, std::string_view key, std::string_view where);

  std::vector<Range> FindAll(std::string_view text) const;
  // Every match replaced by `content`, taken literally.
  std::string ReplaceAll(std::string_view text, std::string_view content) const;
  // By what factor ReplaceAll can lengthen a text (of at least one byte) at most.
  double MaxGrowth(std::string_view content) const;
  // Whether no match can reach over a character boundary, so that a text may be replaced piece by
  // piece.
  bool IsOneCharacter() const;

 private:
  std::string literal_;
  std::optional<Regex> regex_;
};

enum class SplitBehavior { kRemoved, kIsolated, kMergedWithPrevious, kMergedWithNext, kContiguous };

// object[key], as "Removed", "Isolated", …
Result<SplitBehavior> SplitBehaviorFromJson(const Json& object, std::string_view key,
                                            std::string_view where);

// A stretch of a text that is a match, or lies between two.
struct Segment {
  Range range;
  bool is_match = false;
};

// All of [0, size) as segments; `invert` swaps the roles.
std::vector<Segment> Segments(size_t size, std::span<const Range> matches, bool invert = false);

// One segment for each character that `is_match` picks, one for each stretch between them.
std::vector<Segment> SegmentsByCharacter(std::string_view text,
                                         const std::function<bool(char32_t)>& is_match);

// What is left of the segments; ranges may be empty.
std::vector<Range> ApplyBehavior(std::span<const Segment> segments, SplitBehavior behavior);

}  // namespace hexlane::tokenizer

#endif  // HEXLANE_RUNTIME_TOKENIZER_SPLIT_H_
