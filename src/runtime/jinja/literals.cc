#include "runtime/jinja/literals.h"

#include <algorithm>
#include <charconv>

#include "runtime/jinja/lexer.h"
#include "runtime/jinja/text.h"

namespace hexlane::jinja {
namespace {

int DigitValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'z') return c - 'a' + 10;
  if (c >= 'A' && c <= 'Z') return c - 'A' + 10;
  return 99;
}

// The end of digits of `base` from `pos`, single underscores between them.
size_t DigitsEnd(std::string_view text, size_t pos, int base = 10) {
  while (pos < text.size()) {
    const bool separator = text[pos] == '_' && pos + 1 < text.size();
    const size_t digit = separator ? pos + 1 : pos;
    if (DigitValue(text[digit]) >= base) break;
    pos = digit + 1;
  }
  return pos;
}

// The end of the float at the start of `text`, or 0 when it is no float.
size_t FloatEnd(std::string_view text) {
  size_t end = DigitsEnd(text, 0);
  bool is_float = false;
  if (end + 1 < text.size() && text[end] == '.' && DigitValue(text[end + 1]) < 10) {
    end = DigitsEnd(text, end + 1);
    is_float = true;
  }
  if (end < text.size() && (text[end] == 'e' || text[end] == 'E')) {
    size_t exponent = end + 1;
    if (exponent < text.size() && (text[exponent] == '+' || text[exponent] == '-')) ++exponent;
    if (exponent < text.size() && DigitValue(text[exponent]) < 10) return DigitsEnd(text, exponent);
  }
  return is_float ? end : 0;
}

int PrefixBase(std::string_view text) {
  if (text.size() < 3 || text[0] != '0') return 10;
  const char letter = static_cast<char>(text[1] | 0x20);
  const int base = letter == 'x' ? 16 : letter == 'o' ? 8 : letter == 'b' ? 2 : 10;
  const size_t digit = text[2] == '_' && text.size() > 3 ? 3 : 2;
  return DigitValue(text[digit]) < base ? base : 10;
}

std::string WithoutUnderscores(std::string_view text) {
  std::string out(text);
  out.erase(std::remove(out.begin(), out.end(), '_'), out.end());
  return out;
}

std::optional<Int> DigitsToInt(std::string_view digits, int base) {
  Int value = 0;
  for (const char c : digits) {
    if (c == '_') continue;
    if (__builtin_mul_overflow(value, Int{base}, &value)) return std::nullopt;
    if (__builtin_add_overflow(value, Int{DigitValue(c)}, &value)) return std::nullopt;
  }
  return value;
}

struct Escape {
  char32_t code = 0;
  size_t size = 0;  // of the text after the backslash; 0: not an escape
};

Escape HexEscape(std::string_view text, size_t digits) {
  if (text.size() < 1 + digits) return {};
  char32_t code = 0;
  for (const char c : text.substr(1, digits)) {
    if (DigitValue(c) >= 16) return {};
    code = code * 16 + static_cast<char32_t>(DigitValue(c));
  }
  return {code, 1 + digits};
}

Escape OctalEscape(std::string_view text) {
  Escape escape;
  while (escape.size < std::min<size_t>(3, text.size()) && DigitValue(text[escape.size]) < 8)
    escape.code = escape.code * 8 + static_cast<char32_t>(DigitValue(text[escape.size++]));
  return escape;
}

// `text` follows a backslash and is not empty.
Escape ReadEscape(std::string_view text) {
  switch (text[0]) {
    case 'n': return {'\n', 1};
    case 't': return {'\t', 1};
    case 'r': return {'\r', 1};
    case 'a': return {'\a', 1};
    case 'b': return {'\b', 1};
    case 'f': return {'\f', 1};
    case 'v': return {'\v', 1};
    case '\\':
    case '\'':
    case '"': return {static_cast<char32_t>(text[0]), 1};
    case 'x': return HexEscape(text, 2);
    case 'u': return HexEscape(text, 4);
    case 'U': return HexEscape(text, 8);
    default: return OctalEscape(text);
  }
}

bool IsHexEscape(char c) { return c == 'x' || c == 'u' || c == 'U'; }

}  // namespace

Result<Number> ReadNumber(std::string_view text, bool may_be_float, int line) {
  if (const size_t size = may_be_float ? FloatEnd(text) : 0) {
    const std::optional<double> value = ParseFloat(text.substr(0, size));
    if (!value) return SyntaxFailure(line, "bad number '{}'", text.substr(0, size));
    return Number{*value, size};
  }
  const int base = PrefixBase(text);
  const size_t begin = base == 10 ? 0 : 2;
  size_t size = DigitsEnd(text, begin, base);
  if (base == 10 && text[0] == '0') {  // 0 and 00, but 01 is two numbers
    size = 1;
    while (size < text.size() && text[size] == '0') ++size;
  }
  const std::optional<Int> value = DigitsToInt(text.substr(begin, size - begin), base);
  if (!value) return SyntaxFailure(line, "an integer needs more than 127 bits");
  return Number{*value, size};
}

Result<std::string> Unescape(std::string_view text, int line) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      out += text[i];
      continue;
    }
    if (text[i + 1] == '\n') {
      ++i;
      continue;
    }
    const Escape escape = ReadEscape(text.substr(i + 1));
    if (escape.size == 0 && IsHexEscape(text[i + 1]))
      return SyntaxFailure(line, "truncated \\{} escape in a string", text[i + 1]);
    if (escape.code > 0x10FFFF || (escape.code >= 0xD800 && escape.code < 0xE000))
      return SyntaxFailure(line, "an escape in a string is not a character");
    if (escape.size == 0) {
      out += '\\';
    } else {
      AppendChar(escape.code, out);
    }
    i += escape.size;
  }
  return out;
}

std::optional<Int> ParseInt(std::string_view text, int base) {
  text = Strip(text, Side::kBoth);
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  if (base != 10 && PrefixBase(text) == base) text.remove_prefix(2);
  if (text.empty() || text[0] == '_' || DigitsEnd(text, 0, base) != text.size())
    return std::nullopt;
  std::optional<Int> value = DigitsToInt(text, base);
  if (value && negative) value = -*value;
  return value;
}

std::optional<double> ParseFloat(std::string_view text) {
  std::string number = WithoutUnderscores(Strip(text, Side::kBoth));
  if (number.starts_with('+')) number.erase(0, 1);
  double value = 0;
  const char* end = number.data() + number.size();
  const auto [stop, error] = std::from_chars(number.data(), end, value);
  if (error == std::errc::result_out_of_range) return std::strtod(number.c_str(), nullptr);
  if (error != std::errc() || stop != end) return std::nullopt;
  return value;
}

}  // namespace hexlane::jinja
