// tokenizer.json writes its regular expressions for Oniguruma (Ruby syntax); Hexlane runs them with
// PCRE2.
#ifndef HEXLANE_RUNTIME_TOKENIZER_REGEX_SYNTAX_H_
#define HEXLANE_RUNTIME_TOKENIZER_REGEX_SYNTAX_H_

#include <string>
#include <string_view>

#include "hexlane/status.h"

namespace hexlane::tokenizer {

// The PCRE2 pattern (for PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE) that matches what `pattern`
// matches in Oniguruma:
//   \s \w \b \h \v    Oniguruma's sets, which differ from PCRE2's
//   X{1,3}+           repeats the interval instead of making it possessive; X{n}? is optional;
//   X{,n} starts at 0
//   (?m)              dot matches newline; (?i) without ':' opens a group up to the end of the
//   enclosing one [a-z&&[^x]]       intersection, by look-ahead
//   \p{Han}           the script itself, not its extensions
// kUnsupported for what has no translation, kCorrupt for what is not a pattern.
Result<std::string> TranslateRegex(std::string_view pattern, std::string_view where);

}  // namespace hexlane::tokenizer

#endif  // HEXLANE_RUNTIME_TOKENIZER_REGEX_SYNTAX_H_
