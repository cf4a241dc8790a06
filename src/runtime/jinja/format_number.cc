#include "runtime/jinja/format_number.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "base/check.h"
#include "runtime/jinja/print.h"
#include "runtime/jinja/text.h"

namespace hexlane::jinja {
namespace {

using Kind = Value::Kind;

std::string Repeated(char32_t c, size_t count) {
  std::string out;
  for (size_t i = 0; i < count; ++i) AppendChar(c, out);
  return out;
}

std::string Padded(std::string_view sign, std::string_view body, const Conversion& conversion,
                   char default_align) {
  const size_t size = CharCount(sign) + CharCount(body);
  const size_t width = static_cast<size_t>(conversion.width);
  const size_t missing = width > size ? width - size : 0;
  const char align = conversion.align == '\0' ? default_align : conversion.align;
  const size_t left = align == '<' ? 0 : align == '^' ? missing / 2 : missing;
  std::string out;
  if (align == '=') return out.append(sign).append(Repeated(conversion.fill, missing)).append(body);
  out.append(Repeated(conversion.fill, left)).append(sign).append(body);
  return out.append(Repeated(conversion.fill, missing - left));
}

std::string Grouped(std::string digits, char grouping) {
  if (grouping == '\0') return digits;
  const size_t whole = std::min(digits.find_first_not_of("0123456789"), digits.size());
  for (size_t at = whole; at > 3; at -= 3) digits.insert(at - 3, 1, grouping);
  return digits;
}

std::string SignOf(bool negative, const Conversion& conversion) {
  if (negative) return "-";
  return conversion.sign == '-' ? "" : std::string(1, conversion.sign);
}

std::string Digits(unsigned __int128 value, char type) {
  switch (type) {
    case 'x': return fmt::format("{:x}", value);
    case 'X': return fmt::format("{:X}", value);
    case 'o': return fmt::format("{:o}", value);
    case 'b': return fmt::format("{:b}", value);
    default: return fmt::format("{}", value);
  }
}

std::string FormatInteger(Int value, const Conversion& conversion) {
  const auto bits = static_cast<unsigned __int128>(value);
  std::string digits = Digits(value < 0 ? -bits : bits, conversion.type);
  if (conversion.precision > 0 && digits.size() < static_cast<size_t>(conversion.precision))
    digits.insert(0, static_cast<size_t>(conversion.precision) - digits.size(), '0');
  std::string sign = SignOf(value < 0, conversion);
  if (conversion.alternate && conversion.type != 'd') sign += std::string("0") + conversion.type;
  return Padded(sign, Grouped(std::move(digits), conversion.grouping), conversion, '>');
}

std::string FormatReal(double value, const Conversion& conversion) {
  const bool percent = conversion.type == '%';
  CHECK(std::string_view("eEfFgG%").find(conversion.type) != std::string_view::npos);
  const char pattern[] = {'%',
                          conversion.alternate ? '#' : '.',
                          conversion.alternate ? '.' : '*',
                          conversion.alternate ? '*' : (percent ? 'f' : conversion.type),
                          conversion.alternate ? (percent ? 'f' : conversion.type) : '\0',
                          '\0'};
  std::array<char, 512 + kMaxFormatPrecision> buffer;
  const int precision = conversion.precision < 0 ? 6 : conversion.precision;
  const double shown = std::abs(percent ? value * 100 : value);
  std::snprintf(buffer.data(), buffer.size(), pattern, precision, shown);
  std::string digits = Grouped(buffer.data(), conversion.grouping);
  if (percent) digits += '%';
  return Padded(SignOf(std::signbit(value) && !std::isnan(value), conversion), digits, conversion,
                '>');
}

std::string FormatText(std::string_view text, const Conversion& conversion) {
  if (conversion.precision >= 0)
    text = text.substr(0, ByteOffset(text, static_cast<size_t>(conversion.precision)));
  return Padded("", text, conversion, '<');
}

Result<std::string> FormatCharacter(const Value& value, const Conversion& conversion) {
  if (value.IsText() && CharCount(value.text()) == 1) return FormatText(value.text(), conversion);
  if (!value.IsInteger() || value.integer() < 0 || value.integer() > 0x10FFFF ||
      (value.integer() >= 0xD800 && value.integer() < 0xE000))
    return InvalidInput("%c requires int or char");
  std::string c;
  AppendChar(static_cast<char32_t>(value.integer()), c);
  return FormatText(c, conversion);
}

}  // namespace

Result<int> ReadCount(std::string_view text, size_t& pos, int limit) {
  if (pos >= text.size() || text[pos] < '0' || text[pos] > '9') return -1;
  int count = 0;
  for (; pos < text.size() && text[pos] >= '0' && text[pos] <= '9'; ++pos) {
    count = count * 10 + (text[pos] - '0');
    if (count > limit) return InvalidInput("a format width is too large").Want("at most {}", limit);
  }
  return count;
}

Result<std::string> FormatValue(Env& env, const Value& value, const Conversion& conversion) {
  if (conversion.type == 's') return FormatText(TRY(Str(env, value)), conversion);
  if (value.IsUndefined()) return InvalidInput("an undefined value cannot be formatted");
  if (conversion.type == 'c') return FormatCharacter(value, conversion);
  if (!value.IsNumber())
    return InvalidInput("%{} format: a real number is required, not {}", conversion.type,
                        value.TypeName());
  const bool wants_integer = std::string_view("dxXob").find(conversion.type) != std::string::npos;
  if (!wants_integer) return FormatReal(value.real(), conversion);
  if (value.IsInteger()) return FormatInteger(value.integer(), conversion);
  if (!(std::abs(value.real()) < 8.5e37)) return InvalidInput("cannot convert float to integer");
  return FormatInteger(static_cast<Int>(value.real()), conversion);
}

}  // namespace hexlane::jinja
