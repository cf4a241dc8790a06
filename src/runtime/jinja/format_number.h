// One value formatted by a conversion of % or of str.format.
#ifndef HEXLANE_RUNTIME_JINJA_FORMAT_NUMBER_H_
#define HEXLANE_RUNTIME_JINJA_FORMAT_NUMBER_H_

#include "runtime/jinja/env.h"
#include "runtime/jinja/value.h"

namespace hexlane::jinja {

struct Conversion {
  char type = 's';    // d x X o b c e E f F g G %, or s
  char align = '\0';  // '<' '>' '^' '=' (after the sign); '\0': the default of the type
  char32_t fill = ' ';
  char sign = '-';  // '+' or ' ': also before positive numbers
  bool alternate = false;
  char grouping = '\0';  // ',' or '_' between thousands
  int width = 0;
  int precision = -1;
};

inline constexpr int kMaxFormatWidth = 100'000;
inline constexpr int kMaxFormatPrecision = 1'000;

// Digits at text[pos]; an error beyond `limit`. No digits give -1.
Result<int> ReadCount(std::string_view text, size_t& pos, int limit);

Result<std::string> FormatValue(Env& env, const Value& value, const Conversion& conversion);

}  // namespace hexlane::jinja

#endif  // HEXLANE_RUNTIME_JINJA_FORMAT_NUMBER_H_
