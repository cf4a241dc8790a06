#include "runtime/tokenizer/unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/check.h"
#include "runtime/tokenizer/utf8.h"

namespace hexlane::tokenizer {
namespace {

utf8proc_category_t Category(char32_t c) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(c));
}

bool Between(char32_t c, char32_t low, char32_t high) { return low <= c && c <= high; }

bool IsAscii(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return static_cast<signed char>(c) >= 0; });
}

// Canonical ordering: combining marks of each run by class, stably. utf8proc's own is quadratic in
// the run's length.
void OrderMarks(std::vector<utf8proc_int32_t>& points) {
  const auto mark_class = [](utf8proc_int32_t c) {
    return utf8proc_get_property(c)->combining_class;
  };
  const auto is_mark = [&](utf8proc_int32_t c) { return mark_class(c) != 0; };
  std::vector<std::pair<uint64_t, utf8proc_int32_t>> run;  // (class, position), character
  for (auto begin = points.begin(); begin != points.end();) {
    begin = std::find_if(begin, points.end(), is_mark);
    const auto end = std::find_if_not(begin, points.end(), is_mark);
    run.clear();
    for (auto it = begin; it != end; ++it)
      run.emplace_back(static_cast<uint64_t>(mark_class(*it)) << 48 | run.size(), *it);
    std::sort(run.begin(), run.end());
    for (const auto& [key, mark] : run) *begin++ = mark;
  }
}

std::vector<utf8proc_int32_t> Decompose(std::string_view text, utf8proc_option_t options) {
  std::vector<utf8proc_int32_t> points;
  points.reserve(text.size());
  utf8proc_int32_t parts[32];  // the longest decomposition has 18 characters
  for (size_t i = 0; i < text.size();) {
    const Utf8Char c = DecodeUtf8(text, i);
    i += c.size;
    int boundary = 0;
    const auto count = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(c.code_point), parts,
                                               32, options, &boundary);
    CHECK(count >= 0 && count <= 32);
    points.insert(points.end(), parts, parts + count);
  }
  OrderMarks(points);
  return points;
}

}  // namespace

bool IsWhitespace(char32_t c) {
  return Between(c, 0x9, 0xD) || c == 0x20 || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         Between(c, 0x2000, 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
         c == 0x3000;
}

bool IsNumeric(char32_t c) {
  const utf8proc_category_t category = Category(c);
  return category >= UTF8PROC_CATEGORY_ND && category <= UTF8PROC_CATEGORY_NO;
}

bool IsPunctuation(char32_t c) {
  if (Between(c, 0x21, 0x2F) || Between(c, 0x3A, 0x40) || Between(c, 0x5B, 0x60) ||
      Between(c, 0x7B, 0x7E))
    return true;
  const utf8proc_category_t category = Category(c);
  return category >= UTF8PROC_CATEGORY_PC && category <= UTF8PROC_CATEGORY_PO;
}

bool IsMark(char32_t c) {
  const utf8proc_category_t category = Category(c);
  return category >= UTF8PROC_CATEGORY_MN && category <= UTF8PROC_CATEGORY_ME;
}

bool IsWord(char32_t c) {
  const utf8proc_category_t category = Category(c);
  if (category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_NL)
    return true;  // L, M, Nd, Nl
  if (category == UTF8PROC_CATEGORY_PC || c == 0x200C || c == 0x200D) return true;
  return Between(c, 0x24B6, 0x24E9) ||
         Between(c, 0x1F130, 0x1F149) ||  // letters in circles and squares:
         Between(c, 0x1F150, 0x1F169) || Between(c, 0x1F170, 0x1F189);  // So, but alphabetic
}

std::string NormalizeUnicode(std::string_view text, NormalForm form) {
  if (IsAscii(text)) return std::string(text);
  const bool compatible = form == NormalForm::kNfkc || form == NormalForm::kNfkd;
  int options = UTF8PROC_STABLE | UTF8PROC_DECOMPOSE | (compatible ? UTF8PROC_COMPAT : 0);
  auto points = Decompose(text, static_cast<utf8proc_option_t>(options));
  if (form == NormalForm::kNfc || form == NormalForm::kNfkc) {
    options = (options & ~UTF8PROC_DECOMPOSE) | UTF8PROC_COMPOSE;
    const auto count =
        utf8proc_normalize_utf32(points.data(), static_cast<utf8proc_ssize_t>(points.size()),
                                 static_cast<utf8proc_option_t>(options));
    CHECK(count >= 0);
    points.resize(static_cast<size_t>(count));
  }
  std::string out;
  out.reserve(text.size());
  for (const utf8proc_int32_t c : points) AppendUtf8(static_cast<char32_t>(c), out);
  return out;
}

std::string ToLower(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    const Utf8Char c = DecodeUtf8(text, i);
    i += c.size;
    if (c.code_point == 0x130) {
      out += "i\xCC\x87";  // the one character whose lower case is two, whatever the language
    } else {
      AppendUtf8(
          static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c.code_point))),
          out);
    }
  }
  return out;
}

}  // namespace hexlane::tokenizer
