// Counts how deep the parser is; internal to the parser.
#ifndef HEXLANE_RUNTIME_JINJA_PARSER_NESTING_H_
#define HEXLANE_RUNTIME_JINJA_PARSER_NESTING_H_

#include "runtime/jinja/parser.h"

namespace hexlane::jinja {

inline constexpr int kMaxNesting = 64;
inline constexpr int kMaxChain =
    100;  // operators of one level in one expression, postfixes of one value

class Parser::Nesting {
 public:
  explicit Nesting(Parser& parser) : parser_(parser) { ++parser_.nesting_; }
  ~Nesting() { --parser_.nesting_; }
  Nesting(const Nesting&) = delete;
  Nesting& operator=(const Nesting&) = delete;

  Result<void> Check() const {
    if (parser_.nesting_ <= kMaxNesting) return {};
    return SyntaxFailure(parser_.Current().line, "the template nests too deep");
  }

 private:
  Parser& parser_;
};

}  // namespace hexlane::jinja

#endif  // HEXLANE_RUNTIME_JINJA_PARSER_NESTING_H_
