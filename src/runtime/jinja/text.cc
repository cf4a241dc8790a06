#include "runtime/jinja/text.h"

#include <string.h>
#include <utf8proc.h>

#include <array>

namespace hexlane::jinja {
namespace {

constexpr char32_t kInvalidByte = 0xDC00;

bool IsInvalidByte(char32_t code) { return code >= kInvalidByte && code <= kInvalidByte + 0xFF; }

utf8proc_category_t Category(char32_t code) {
  if (code > 0x10FFFF) return UTF8PROC_CATEGORY_CN;
  return utf8proc_category(static_cast<utf8proc_int32_t>(code));
}

template <typename F>
void ForEachChar(std::string_view text, F visit) {
  for (size_t i = 0; i < text.size();) {
    const Char c = CharAt(text, i);
    visit(c.code);
    i += c.size;
  }
}

char32_t ToUpper(char32_t code) {
  return IsInvalidByte(code) ? code : utf8proc_toupper(static_cast<utf8proc_int32_t>(code));
}
char32_t ToLower(char32_t code) {
  return IsInvalidByte(code) ? code : utf8proc_tolower(static_cast<utf8proc_int32_t>(code));
}
char32_t ToTitle(char32_t code) {
  return IsInvalidByte(code) ? code : utf8proc_totitle(static_cast<utf8proc_int32_t>(code));
}

void AppendUpper(char32_t code, std::string& out) {
  if (code == 0xDF) {  // the common one of the letters whose capital is two letters
    out += "SS";
  } else {
    AppendChar(ToUpper(code), out);
  }
}

bool Contains(std::string_view chars, std::string_view c) {
  for (size_t i = 0; i < chars.size();) {
    const size_t size = CharAt(chars, i).size;
    if (chars.substr(i, size) == c) return true;
    i += size;
  }
  return false;
}

size_t LastCharSize(std::string_view text) {
  for (size_t size = 1; size <= 4 && size <= text.size(); ++size) {
    const Char c = CharAt(text, text.size() - size);
    if (c.size == size && !IsInvalidByte(c.code)) return size;
  }
  return 1;
}

}  // namespace

Char CharAt(std::string_view text, size_t offset) {
  const auto first = static_cast<unsigned char>(text[offset]);
  if (first < 0x80) return {first, 1};
  utf8proc_int32_t code = -1;
  const utf8proc_ssize_t size =
      utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()) + offset,
                       static_cast<utf8proc_ssize_t>(text.size() - offset), &code);
  if (size <= 0 || code < 0) return {kInvalidByte + first, 1};
  return {static_cast<char32_t>(code), static_cast<size_t>(size)};
}

void AppendChar(char32_t code, std::string& out) {
  if (IsInvalidByte(code)) {
    out += static_cast<char>(code - kInvalidByte);
    return;
  }
  std::array<utf8proc_uint8_t, 4> bytes;
  const utf8proc_ssize_t size =
      utf8proc_encode_char(static_cast<utf8proc_int32_t>(code), bytes.data());
  out.append(reinterpret_cast<const char*>(bytes.data()), static_cast<size_t>(size));
}

size_t CharCount(std::string_view text) {
  size_t count = 0;
  ForEachChar(text, [&](char32_t) { ++count; });
  return count;
}

size_t ByteOffset(std::string_view text, size_t chars) {
  size_t offset = 0;
  for (; chars > 0 && offset < text.size(); --chars) offset += CharAt(text, offset).size;
  return offset;
}

std::vector<std::string_view> Chars(std::string_view text) {
  std::vector<std::string_view> chars;
  for (size_t i = 0; i < text.size(); i += chars.back().size())
    chars.push_back(text.substr(i, CharAt(text, i).size));
  return chars;
}

bool IsSpace(char32_t c) {
  if (c < 0x80) return (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x20);
  return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 ||
         c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}
bool IsUpper(char32_t c) { return Category(c) == UTF8PROC_CATEGORY_LU; }
bool IsLower(char32_t c) { return Category(c) == UTF8PROC_CATEGORY_LL || c == 0xAA || c == 0xBA; }
bool IsAlpha(char32_t c) {
  const utf8proc_category_t category = Category(c);
  return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO;
}
bool IsDecimal(char32_t c) { return Category(c) == UTF8PROC_CATEGORY_ND; }
bool IsWordChar(char32_t c) {
  if (c == '_') return true;
  const utf8proc_category_t category = Category(c);
  return IsAlpha(c) || (category >= UTF8PROC_CATEGORY_ND && category <= UTF8PROC_CATEGORY_NO);
}
bool IsPrintable(char32_t c) {
  if (c == ' ') return true;
  const utf8proc_category_t category = Category(c);
  return category != UTF8PROC_CATEGORY_CN && category < UTF8PROC_CATEGORY_ZS;
}

std::string_view Strip(std::string_view text, Side side, std::string_view chars) {
  const auto drop = [&](std::string_view c) {
    return chars.empty() ? IsSpace(CharAt(c, 0).code) : Contains(chars, c);
  };
  while (side != Side::kRight && !text.empty()) {
    const size_t size = CharAt(text, 0).size;
    if (!drop(text.substr(0, size))) break;
    text.remove_prefix(size);
  }
  while (side != Side::kLeft && !text.empty()) {
    const size_t size = LastCharSize(text);
    if (!drop(text.substr(text.size() - size))) break;
    text.remove_suffix(size);
  }
  return text;
}

std::string Upper(std::string_view text) {
  std::string out;
  ForEachChar(text, [&](char32_t c) { AppendUpper(c, out); });
  return out;
}

std::string Lower(std::string_view text) {
  std::string out;
  ForEachChar(text, [&](char32_t c) { AppendChar(ToLower(c), out); });
  return out;
}

std::string Capitalize(std::string_view text) {
  std::string out;
  bool first = true;
  ForEachChar(text, [&](char32_t c) {
    AppendChar(first ? ToTitle(c) : ToLower(c), out);
    first = false;
  });
  return out;
}

std::string Title(std::string_view text) {
  std::string out;
  bool in_word = false;
  ForEachChar(text, [&](char32_t c) {
    AppendChar(in_word ? ToLower(c) : ToTitle(c), out);
    in_word = IsUpper(c) || IsLower(c) || Category(c) == UTF8PROC_CATEGORY_LT;
  });
  return out;
}

size_t FindText(std::string_view text, std::string_view what, size_t from) {
  if (from > text.size()) return std::string_view::npos;
  if (what.empty()) return from;
  const void* at = memmem(text.data() + from, text.size() - from, what.data(), what.size());
  if (at == nullptr) return std::string_view::npos;
  return static_cast<size_t>(static_cast<const char*>(at) - text.data());
}

size_t CountText(std::string_view text, std::string_view what) {
  if (what.empty()) return CharCount(text) + 1;
  size_t count = 0;
  for (size_t at = FindText(text, what); at != std::string_view::npos;
       at = FindText(text, what, at + what.size()))
    ++count;
  return count;
}

bool AllChars(std::string_view text, bool (*test)(char32_t)) {
  bool all = !text.empty();
  ForEachChar(text, [&](char32_t c) { all = all && test(c); });
  return all;
}

std::string EscapeHtml(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&#34;"; break;
      case '\'': out += "&#39;"; break;
      default: out += c;
    }
  }
  return out;
}

}  // namespace hexlane::jinja
