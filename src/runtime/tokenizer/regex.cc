#include "runtime/tokenizer/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>
#include <array>
#include <string>

#include "runtime/tokenizer/regex_syntax.h"
#include "runtime/tokenizer/utf8.h"

namespace hexlane::tokenizer {
namespace {

constexpr size_t kMaxPatternBytes = 1 << 16;
constexpr uint32_t kHeapLimitKib = 64 << 10;

using MatchContext = std::unique_ptr<pcre2_match_context, decltype(&pcre2_match_context_free)>;
using MatchData = std::unique_ptr<pcre2_match_data, decltype(&pcre2_match_data_free)>;

struct Compiled {
  std::shared_ptr<pcre2_code> code;  // null when the pattern is bad
  int error = 0;
  size_t offset = 0;
};

Compiled CompilePcre(std::string_view pattern) {
  const std::unique_ptr<pcre2_compile_context, decltype(&pcre2_compile_context_free)> context(
      pcre2_compile_context_create(nullptr), &pcre2_compile_context_free);
  pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
  Compiled result;
  pcre2_code* code =
      pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                    PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C,
                    &result.error, &result.offset, context.get());
  if (code != nullptr) result.code = {code, &pcre2_code_free};
  return result;
}

// Steps one search may take: generous for any pattern that is linear in the text, small enough to
// end.
MatchContext LimitsFor(size_t text_size) {
  MatchContext context(pcre2_match_context_create(nullptr), &pcre2_match_context_free);
  const auto steps = static_cast<uint32_t>(std::min<size_t>(100'000 + 64 * text_size, UINT32_MAX));
  pcre2_set_match_limit(context.get(), steps);
  pcre2_set_depth_limit(context.get(), steps);
  pcre2_set_heap_limit(context.get(), kHeapLimitKib);
  return context;
}

}  // namespace

bool IsScriptName(std::string_view name) {
  const auto is_plain = [](char c) {
    return c == '_' || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
  };
  return std::all_of(name.begin(), name.end(), is_plain) &&
         CompilePcre(fmt::format("\\p{{sc:{}}}", name)).code != nullptr;
}

Result<Regex> Regex::Compile(std::string_view pattern, std::string_view where) {
  if (pattern.size() > kMaxPatternBytes)
    return Unsupported("regular expression too long")
        .At("{}", where)
        .Want("at most {} bytes", kMaxPatternBytes);
  const std::string translated = TRY(TranslateRegex(pattern, where));
  Compiled compiled = CompilePcre(translated);
  if (compiled.code == nullptr) {
    std::array<PCRE2_UCHAR, 200> message{};
    pcre2_get_error_message(compiled.error, message.data(), message.size());
    return Unsupported("cannot compile the regular expression: {}",
                       reinterpret_cast<char*>(message.data()))
        .At("{}: offset {} of {}", where, compiled.offset, translated)
        .Got("{}", pattern);
  }
  pcre2_jit_compile(compiled.code.get(),
                    PCRE2_JIT_COMPLETE);  // without JIT the interpreter does the same
  return Regex(std::move(compiled.code));
}

bool Regex::CanMatchEmpty() const {
  uint32_t can = 1;
  pcre2_pattern_info(code_.get(), PCRE2_INFO_MATCHEMPTY, &can);
  return can != 0;
}

std::vector<Range> Regex::FindAll(std::string_view text) const {
  const MatchContext limits = LimitsFor(text.size());
  const MatchData data(pcre2_match_data_create_from_pattern(code_.get(), nullptr),
                       &pcre2_match_data_free);
  const auto* subject = reinterpret_cast<PCRE2_SPTR>(text.data());
  const auto search = [&](size_t start, uint32_t options) {
    return pcre2_match(code_.get(), subject, text.size(), start, PCRE2_NO_UTF_CHECK | options,
                       data.get(), limits.get());
  };
  std::vector<Range> matches;
  for (size_t start = 0; start <= text.size();) {
    int status = search(start, 0);
    if (status == PCRE2_ERROR_JIT_STACKLIMIT) status = search(start, PCRE2_NO_JIT);
    if (status < 0) break;  // no match, or a limit
    const PCRE2_SIZE* offsets = pcre2_get_ovector_pointer(data.get());
    const Range match{offsets[0], offsets[1]};
    if (match.begin > match.end || match.end < start) break;  // \K in a look-around
    if (match.begin == match.end && !matches.empty() && matches.back().end == match.end) {
      if (match.end == text.size()) break;
      start = match.end + DecodeUtf8(text, match.end).size;
      continue;
    }
    matches.push_back(match);
    start = match.end;
  }
  return matches;
}

}  // namespace hexlane::tokenizer
