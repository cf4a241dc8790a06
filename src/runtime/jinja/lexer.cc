#include "runtime/jinja/lexer.h"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "runtime/jinja/literals.h"
#include "runtime/jinja/text.h"

namespace hexlane::jinja {
namespace {

using Kind = Token::Kind;

// All line ends become \n, and one at the very end is dropped.
std::string NormalizeLines(std::string_view source) {
  std::string out;
  out.reserve(source.size());
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] == '\r' && i + 1 < source.size() && source[i + 1] == '\n') continue;
    out += source[i] == '\r' ? '\n' : source[i];
  }
  if (!out.empty() && out.back() == '\n') out.pop_back();
  return out;
}

class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(NormalizeLines(source)) {}

  Result<std::vector<Token>> Run() {
    while (pos_ < source_.size()) TRY(LexData());
    Add(Kind::kEnd, "");
    return std::move(tokens_);
  }

 private:
  char At(size_t pos) const { return pos < source_.size() ? source_[pos] : '\0'; }
  bool StartsWith(std::string_view what, size_t pos) const {
    return std::string_view(source_).substr(std::min(pos, source_.size())).starts_with(what);
  }
  bool IsSign(size_t pos) const { return At(pos) == '-' || At(pos) == '+'; }

  size_t SkipSpace(size_t pos) const {
    while (pos < source_.size()) {
      const Char c = CharAt(source_, pos);
      if (!IsSpace(c.code)) break;
      pos += c.size;
    }
    return pos;
  }

  void Add(Kind kind, std::string text, Value number = Value()) {
    tokens_.push_back({kind, line_, std::move(text), std::move(number)});
  }

  void Advance(size_t to) {
    line_ += static_cast<int>(std::count(source_.begin() + static_cast<ptrdiff_t>(pos_),
                                         source_.begin() + static_cast<ptrdiff_t>(to), '\n'));
    pos_ = to;
  }

  // Past the end of a tag: `line_starting_` is whether that ends a line.
  void CloseTag(size_t to) {
    Advance(to);
    line_starting_ = to > 0 && source_[to - 1] == '\n';
  }

  // Literal text up to `end`, where a tag with this sign ('-', '+' or another character) begins.
  void AddData(size_t end, char sign, bool is_variable) {
    std::string_view text = std::string_view(source_).substr(pos_, end - pos_);
    if (sign == '-') {
      text = Strip(text, Side::kRight);
    } else if (sign != '+' && !is_variable) {
      const size_t last_line = text.rfind('\n') + 1;  // npos + 1 is 0
      if ((last_line > 0 || line_starting_) && Strip(text.substr(last_line), Side::kBoth).empty())
        text = text.substr(0, last_line);
    }
    if (!text.empty()) Add(Kind::kData, std::string(text));
  }

  size_t FindTag() const {
    for (size_t at = source_.find('{', pos_); at != std::string::npos;
         at = source_.find('{', at + 1))
      if (At(at + 1) == '{' || At(at + 1) == '%' || At(at + 1) == '#') return at;
    return std::string::npos;
  }

  // Literal text and the tag after it.
  Result<void> LexData() {
    const size_t tag = FindTag();
    if (tag == std::string::npos) {
      Add(Kind::kData, source_.substr(pos_));
      Advance(source_.size());
      return {};
    }
    const char sign = At(tag + 2);
    AddData(tag, sign, At(tag + 1) == '{');
    Advance(tag);
    const size_t inside = tag + 2 + (IsSign(tag + 2) ? 1 : 0);
    if (At(tag + 1) == '#') return LexComment(inside);
    if (At(tag + 1) == '%') {
      if (const size_t end = RawBegin(inside)) return LexRaw(end);
    }
    return LexTag(inside, At(tag + 1) == '{');
  }

  Result<void> LexComment(size_t inside) {
    const size_t end = source_.find("#}", inside);
    if (end == std::string::npos) return SyntaxFailure(line_, "missing end of comment tag");
    const char sign = end > inside ? source_[end - 1] : ' ';
    CloseTag(AfterEnd(end + 2, sign));
    return {};
  }

  // Where the template goes on after the two characters of a block's or comment's end.
  size_t AfterEnd(size_t end, char sign) const {
    if (sign == '-') return SkipSpace(end);
    if (sign != '+' && At(end) == '\n') return end + 1;  // trim_blocks
    return end;
  }

  // The end of "raw %}" at `inside`, or 0.
  size_t RawBegin(size_t inside) const {
    const size_t name = SkipSpace(inside);
    if (!StartsWith("raw", name)) return 0;
    const size_t end = SkipSpace(name + 3);
    if (StartsWith("-%}", end)) return SkipSpace(end + 3);
    return StartsWith("%}", end) ? end + 2 : 0;
  }

  // {% endraw %} at `tag`: the end of it and the sign before its %}, or {0, 0}.
  std::pair<size_t, char> RawEnd(size_t tag) const {
    const size_t name = SkipSpace(tag + 2 + (IsSign(tag + 2) ? 1 : 0));
    if (!StartsWith("endraw", name)) return {0, 0};
    const size_t end = SkipSpace(name + 6);
    if (IsSign(end) && StartsWith("%}", end + 1)) return {end + 3, source_[end]};
    return StartsWith("%}", end) ? std::pair<size_t, char>{end + 2, ' '}
                                 : std::pair<size_t, char>{0, 0};
  }

  Result<void> LexRaw(size_t begin) {
    const int line = line_;
    CloseTag(begin);
    for (size_t tag = source_.find("{%", pos_); tag != std::string::npos;
         tag = source_.find("{%", tag + 1)) {
      const auto [end, sign] = RawEnd(tag);
      if (end == 0) continue;
      AddData(tag, At(tag + 2), false);
      CloseTag(AfterEnd(end, sign));
      return {};
    }
    return SyntaxFailure(line, "missing end of raw directive");
  }

  // The end of the tag at pos_, or 0 where it goes on.
  size_t TagEnd(bool is_variable) const {
    if (!brackets_.empty()) return 0;
    if (is_variable) {
      if (StartsWith("-}}", pos_)) return SkipSpace(pos_ + 3);
      return StartsWith("}}", pos_) ? pos_ + 2 : 0;
    }
    if (IsSign(pos_) && StartsWith("%}", pos_ + 1)) return AfterEnd(pos_ + 3, source_[pos_]);
    return StartsWith("%}", pos_) ? AfterEnd(pos_ + 2, ' ') : 0;
  }

  Result<void> LexTag(size_t inside, bool is_variable) {
    Add(is_variable ? Kind::kVariableBegin : Kind::kBlockBegin, "");
    Advance(inside);
    brackets_.clear();
    while (pos_ < source_.size()) {
      if (const size_t end = TagEnd(is_variable)) {
        Add(is_variable ? Kind::kVariableEnd : Kind::kBlockEnd, "");
        CloseTag(end);
        return {};
      }
      if (const size_t next = SkipSpace(pos_); next > pos_) {
        Advance(next);
      } else {
        TRY(LexToken());
      }
    }
    return {};  // the parser reports the unexpected end
  }

  Result<void> LexToken() {
    const std::string_view rest = std::string_view(source_).substr(pos_);
    const Char first = CharAt(rest, 0);
    if (first.code >= '0' && first.code <= '9') return LexNumber();
    if (IsWordChar(first.code)) return LexName(rest);
    if (first.code == '"' || first.code == '\'') return LexText(rest);
    return LexOperator(rest);
  }

  Result<void> LexNumber() {
    const bool after_dot = pos_ > 0 && source_[pos_ - 1] == '.';
    const Number number =
        TRY(ReadNumber(std::string_view(source_).substr(pos_), !after_dot, line_));
    Add(Kind::kNumber, source_.substr(pos_, number.size), number.value);
    Advance(pos_ + number.size);
    return {};
  }

  Result<void> LexName(std::string_view rest) {
    size_t size = 0;
    while (size < rest.size()) {
      const Char c = CharAt(rest, size);
      if (!IsWordChar(c.code)) break;
      size += c.size;
    }
    Add(Kind::kName, std::string(rest.substr(0, size)));
    Advance(pos_ + size);
    return {};
  }

  Result<void> LexText(std::string_view rest) {
    size_t end = 1;
    while (end < rest.size() && rest[end] != rest[0]) end += rest[end] == '\\' ? 2 : 1;
    if (end >= rest.size()) return SyntaxFailure(line_, "a string has no closing quote");
    Add(Kind::kText, TRY(Unescape(rest.substr(1, end - 1), line_)));
    Advance(pos_ + end + 1);
    return {};
  }

  Result<void> LexOperator(std::string_view rest) {
    static constexpr std::array<std::string_view, 26> kOperators = {
        "**", "//", "==", "!=", ">=", "<=", "+", "-", "*", "/", "%", "~", "[",
        "]",  "(",  ")",  "{",  "}",  "=",  ">", "<", ".", ":", "|", ",", ";"};
    for (const std::string_view op : kOperators) {
      if (!rest.starts_with(op)) continue;
      TRY(Balance(op[0]));
      Add(Kind::kOperator, std::string(op));
      Advance(pos_ + op.size());
      return {};
    }
    return SyntaxFailure(line_, "unexpected character '{}'", rest.substr(0, CharAt(rest, 0).size));
  }

  Result<void> Balance(char op) {
    if (op == '(' || op == '[' || op == '{') brackets_ += op == '(' ? ')' : op == '[' ? ']' : '}';
    if (op != ')' && op != ']' && op != '}') return {};
    if (brackets_.empty()) return SyntaxFailure(line_, "unexpected '{}'", op);
    if (brackets_.back() != op)
      return SyntaxFailure(line_, "unexpected '{}', expected '{}'", op, brackets_.back());
    brackets_.pop_back();
    return {};
  }

  const std::string source_;
  size_t pos_ = 0;
  int line_ = 1;
  bool line_starting_ = true;  // the text before pos_ ends a line
  std::string brackets_;       // the closing brackets awaited
  std::vector<Token> tokens_;
};

}  // namespace

Result<std::vector<Token>> Tokenize(std::string_view source) { return Lexer(source).Run(); }

}  // namespace hexlane::jinja
