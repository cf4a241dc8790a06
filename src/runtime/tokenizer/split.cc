#include "runtime/tokenizer/split.h"

#include <algorithm>
#include <array>
#include <utility>

#include "runtime/tokenizer/fields.h"
#include "runtime/tokenizer/utf8.h"

namespace hexlane::tokenizer {
namespace {

std::vector<Range> FindLiteral(std::string_view text, std::string_view literal) {
  std::vector<Range> matches;
  for (size_t at = text.find(literal); at != text.npos;
       at = text.find(literal, at + literal.size()))
    matches.push_back({at, at + literal.size()});
  return matches;
}

std::vector<Range> Contiguous(std::span<const Segment> segments) {
  std::vector<Range> out;
  for (size_t i = 0; i < segments.size(); ++i) {
    if (i > 0 && segments[i].is_match == segments[i - 1].is_match) {
      out.back().end = segments[i].range.end;
    } else {
      out.push_back(segments[i].range);
    }
  }
  return out;
}

// A match joins what went before it, unless that was a match too.
std::vector<Range> MergedWithPrevious(std::span<const Segment> segments) {
  std::vector<Range> out;
  for (size_t i = 0; i < segments.size(); ++i) {
    if (segments[i].is_match && i > 0 && !segments[i - 1].is_match) {
      out.back().end = segments[i].range.end;
    } else {
      out.push_back(segments[i].range);
    }
  }
  return out;
}

std::vector<Range> MergedWithNext(std::span<const Segment> segments) {
  std::vector<Range> out;
  for (size_t i = segments.size(); i-- > 0;) {
    if (segments[i].is_match && i + 1 < segments.size() && !segments[i + 1].is_match) {
      out.back().begin = segments[i].range.begin;
    } else {
      out.push_back(segments[i].range);
    }
  }
  std::reverse(out.begin(), out.end());
  return out;
}

}  // namespace

Result<Pattern> Pattern::FromJson(const Json& object, std::string_view key,
                                  std::string_view where) {
  const Json& json = *TRY(JsonObject(object, key, where));
  const std::string here = fmt::format("{}.{}", where, key);
  TRY(OnlyFields(json, {"String", "Regex"}, here));
  Pattern pattern;
  if (json.contains("Regex")) {
    const std::string regex = TRY(JsonField<std::string>(json, "Regex", here));
    pattern.regex_ = TRY(Regex::Compile(regex, here));
  } else {
    pattern.literal_ = TRY(JsonField<std::string>(json, "String", here));
    if (pattern.literal_.empty()) pattern.regex_ = TRY(Regex::Compile("", here));  // between all
  }
  return pattern;
}

std::vector<Range> Pattern::FindAll(std::string_view text) const {
  if (text.empty()) return {};  // as Hugging Face: not even an empty match
  return regex_ ? regex_->FindAll(text) : FindLiteral(text, literal_);
}

std::string Pattern::ReplaceAll(std::string_view text, std::string_view content) const {
  std::string out;
  out.reserve(text.size());
  size_t done = 0;
  for (const Range& match : FindAll(text)) {
    out += text.substr(done, match.begin - done);
    out += content;
    done = match.end;
  }
  return out += text.substr(done);
}

double Pattern::MaxGrowth(std::string_view content) const {
  const auto size = static_cast<double>(content.size());
  if (!regex_) return std::max(1.0, size / static_cast<double>(literal_.size()));
  return regex_->CanMatchEmpty() ? 1.0 + 2.0 * size : std::max(1.0, size);
}

bool Pattern::IsOneCharacter() const {
  return !regex_ && !literal_.empty() && DecodeUtf8(literal_, 0).size == literal_.size();
}

Result<SplitBehavior> SplitBehaviorFromJson(const Json& object, std::string_view key,
                                            std::string_view where) {
  static constexpr std::array<std::pair<std::string_view, SplitBehavior>, 5> kNames = {
      {{"Removed", SplitBehavior::kRemoved},
       {"Isolated", SplitBehavior::kIsolated},
       {"MergedWithPrevious", SplitBehavior::kMergedWithPrevious},
       {"MergedWithNext", SplitBehavior::kMergedWithNext},
       {"Contiguous", SplitBehavior::kContiguous}}};
  const std::string name = TRY(JsonField<std::string>(object, key, where));
  for (const auto& [known, behavior] : kNames) {
    if (name == known) return behavior;
  }
  return UnsupportedType("behavior", name, where);
}

std::vector<Segment> Segments(size_t size, std::span<const Range> matches, bool invert) {
  std::vector<Segment> segments;
  segments.reserve(2 * matches.size() + 1);
  size_t done = 0;
  for (const Range& match : matches) {
    if (match.begin != done) segments.push_back({{done, match.begin}, invert});
    segments.push_back({match, !invert});
    done = match.end;
  }
  if (done != size) segments.push_back({{done, size}, invert});
  return segments;
}

std::vector<Segment> SegmentsByCharacter(std::string_view text,
                                         const std::function<bool(char32_t)>& is_match) {
  std::vector<Range> matches;
  for (size_t i = 0; i < text.size();) {
    const Utf8Char c = DecodeUtf8(text, i);
    if (is_match(c.code_point)) matches.push_back({i, i + c.size});
    i += c.size;
  }
  return Segments(text.size(), matches);
}

std::vector<Range> ApplyBehavior(std::span<const Segment> segments, SplitBehavior behavior) {
  switch (behavior) {
    case SplitBehavior::kContiguous: return Contiguous(segments);
    case SplitBehavior::kMergedWithPrevious: return MergedWithPrevious(segments);
    case SplitBehavior::kMergedWithNext: return MergedWithNext(segments);
    case SplitBehavior::kRemoved:
    case SplitBehavior::kIsolated: break;
  }
  std::vector<Range> out;
  for (const Segment& segment : segments) {
    if (behavior == SplitBehavior::kIsolated || !segment.is_match) out.push_back(segment.range);
  }
  return out;
}

}  // namespace hexlane::tokenizer
