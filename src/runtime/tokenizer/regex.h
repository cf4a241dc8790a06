// Regular expressions as tokenizer.json uses them: compiled once, run by PCRE2's JIT under a match
// limit.
#ifndef HEXLANE_RUNTIME_TOKENIZER_REGEX_H_
#define HEXLANE_RUNTIME_TOKENIZER_REGEX_H_

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include "hexlane/status.h"

struct pcre2_real_code_8;

namespace hexlane::tokenizer {

// Bytes [begin, end) of some text.
struct Range {
  size_t begin = 0;
  size_t end = 0;
  friend bool operator==(const Range&, const Range&) = default;
};

// Immutable; safe to share between threads.
class Regex {
 public:
  // `pattern` in Oniguruma's syntax (regex_syntax.h). kUnsupported, kCorrupt.
  static Result<Regex> Compile(std::string_view pattern, std::string_view where);

  // The matches in `text` (valid UTF-8), in order, not overlapping; empty ones included, save
  // directly after another match. Work is bounded: where a pattern backtracks beyond reason, the
  // rest of the text has no match.
  std::vector<Range> FindAll(std::string_view text) const;
  bool CanMatchEmpty() const;

 private:
  explicit Regex(std::shared_ptr<pcre2_real_code_8> code) : code_(std::move(code)) {}
  std::shared_ptr<pcre2_real_code_8> code_;
};

// Whether `name` is a Unicode script (Han, Latin, …).
bool IsScriptName(std::string_view name);

}  // namespace hexlane::tokenizer

#endif  // HEXLANE_RUNTIME_TOKENIZER_REGEX_H_
