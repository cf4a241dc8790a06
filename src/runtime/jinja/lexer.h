// Template text to tokens: Jinja's white space control (trim_blocks, lstrip_blocks, the - and +
// signs), raw blocks, comments, string escapes.
#ifndef HEXLANE_RUNTIME_JINJA_LEXER_H_
#define HEXLANE_RUNTIME_JINJA_LEXER_H_

#include <string>
#include <string_view>
#include <vector>

#include "runtime/jinja/value.h"

namespace hexlane::jinja {

struct Token {
  enum class Kind {
    kData,           // text: literal output
    kVariableBegin,  // {{
    kVariableEnd,
    kBlockBegin,  // {%
    kBlockEnd,
    kName,
    kText,    // text: a string literal, unescaped
    kNumber,  // number: an int or float
    kOperator,
    kEnd,  // of the template
  };
  Kind kind = Kind::kEnd;
  int line = 0;
  std::string text;
  Value number;
};

Result<std::vector<Token>> Tokenize(std::string_view source);

// A syntax error at a line of the template.
template <typename... Args>
Failure SyntaxFailure(int line, fmt::format_string<Args...> format, Args&&... args) {
  return Corrupt("{}", fmt::format(format, std::forward<Args>(args)...))
      .At("chat template line {}", line);
}

}  // namespace hexlane::jinja

#endif  // HEXLANE_RUNTIME_JINJA_LEXER_H_
