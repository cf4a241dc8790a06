// Number and string literals of a template.
#ifndef HEXLANE_RUNTIME_JINJA_LITERALS_H_
#define HEXLANE_RUNTIME_JINJA_LITERALS_H_

#include "runtime/jinja/value.h"

namespace hexlane::jinja {

struct Number {
  Value value;
  size_t size = 0;  // bytes read
};
// The number at the start of `text`, which begins with a digit.
Result<Number> ReadNumber(std::string_view text, bool may_be_float, int line);

// The inside of a string literal with Python's escapes resolved.
Result<std::string> Unescape(std::string_view text, int line);

// A whole string as int(text, base) or float(text) reads it: blanks around and _ between digits
// allowed.
std::optional<Int> ParseInt(std::string_view text, int base = 10);
std::optional<double> ParseFloat(std::string_view text);

}  // namespace hexlane::jinja

#endif  // HEXLANE_RUNTIME_JINJA_LITERALS_H_
