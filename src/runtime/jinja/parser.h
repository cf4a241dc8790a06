// Tokens to nodes, by Jinja's grammar. parse_expression.cc has the expressions, parser.cc the tags.
#ifndef HEXLANE_RUNTIME_JINJA_PARSER_H_
#define HEXLANE_RUNTIME_JINJA_PARSER_H_

#include <initializer_list>

#include "runtime/jinja/ast.h"
#include "runtime/jinja/lexer.h"

namespace hexlane::jinja {

class Parser {
 public:
  explicit Parser(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  Result<std::shared_ptr<const Program>> Run();

 private:
  using Names = std::initializer_list<std::string_view>;

  // Tokens.
  const Token& Current() const { return tokens_[pos_]; }
  const Token& Ahead() const { return tokens_[std::min(pos_ + 1, tokens_.size() - 1)]; }
  Token Take() { return pos_ + 1 < tokens_.size() ? tokens_[pos_++] : tokens_[pos_]; }
  bool AtKind(Token::Kind kind) const { return Current().kind == kind; }
  bool AtOp(std::string_view op) const {
    return AtKind(Token::Kind::kOperator) && Current().text == op;
  }
  bool AtName(std::string_view name) const {
    return AtKind(Token::Kind::kName) && Current().text == name;
  }
  bool AtAnyName(Names names) const;
  bool SkipOp(std::string_view op);
  bool SkipName(std::string_view name);
  Result<void> ExpectOp(std::string_view op);
  Result<void> ExpectName(std::string_view name);
  Result<void> ExpectKind(Token::Kind kind, std::string_view what);
  Result<std::string> TakeName();
  Failure Unexpected(std::string_view want) const;

  // Bounds the recursion of parsing, and with it that of evaluating and destroying.
  class Nesting;
  Result<void> CountOperator(int& operators) const;

  // Expressions.
  Result<ExprPtr> Expression() { return ConditionalExpr(); }
  Result<ExprPtr> ConditionalExpr();
  // Operators from loose to tight; ** goes from left to right, unlike Python's.
  enum Level { kNoOperator, kOr, kAnd, kNot, kCompare, kSum, kTilde, kProduct, kPower, kUnary };
  Level OperatorLevel() const;
  Result<ExprPtr> Operators(Level level);
  Result<ExprPtr> Extend(Level level, ExprPtr left);
  Result<ExprPtr> Not();
  Result<ExprPtr> Comparisons(ExprPtr first);
  Result<ExprPtr> Tildes(ExprPtr first);
  Result<ExprPtr> UnaryExpr(bool with_filter);
  Result<ExprPtr> Primary();
  Result<ExprPtr> NameOrConstant();
  Result<ExprPtr> Text();
  Result<ExprPtr> ListDisplay();
  Result<ExprPtr> ParseDict();
  Result<ExprPtr> Parenthesised();
  // a, b, c; one item without a comma is not a tuple. `stop`: names that end it.
  Result<ExprPtr> TupleOrExpression(bool with_condition, Names stop = {});
  bool AtTupleEnd(Names stop) const;
  Result<ExprPtr> Postfix(ExprPtr value);
  Result<ExprPtr> FilterOrTest(ExprPtr value);
  Result<std::unique_ptr<FilterExpr>> Filter(ExprPtr value);
  Result<ExprPtr> Test(ExprPtr value);
  Result<std::string> DottedName();
  Result<void> TestArguments(TestExpr& test);
  Result<ExprPtr> Dot(ExprPtr object);
  Result<ExprPtr> Bracket(ExprPtr object);
  Result<ExprPtr> Call(ExprPtr callee);
  Result<void> CallArguments(Arguments& arguments);
  Result<void> CallArgument(Arguments& arguments);
  Result<std::unique_ptr<FilterExpr>> FilterChain(std::unique_ptr<FilterExpr> first);

  // Tags.
  Result<void> ParseUntil(Names end_tags, Block& block);  // stops after {% of one of them
  Result<Block> Body(Names end_tags);                     // from the %} of the opening tag
  Result<void> CloseTag() { return ExpectKind(Token::Kind::kBlockEnd, "end of statement block"); }
  Result<void> Statement(Block& block);
  Result<void> ParsePrint(Block& block);     // {{ … }}
  Result<void> ParsePrintTag(Block& block);  // {% print …, … %}
  Result<void> ParseIf(Block& block);
  Result<void> ParseFor(Block& block);
  Result<void> ParseSet(Block& block);
  Result<void> ParseWith(Block& block);
  Result<void> ParseMacro(Block& block);
  Result<void> ParseCallBlock(Block& block);
  Result<void> ParseFilterBlock(Block& block);
  Result<void> ParseGeneration(Block& block);
  Result<void> ParseLoopControl(Block& block, Flow flow);
  Result<void> Parameters(MacroBody& macro);
  Result<void> MacroBlock(MacroBody& macro, std::string_view end_tag);
  Result<Target> AssignTarget(bool with_tuple, Names stop = {});
  Result<Target> SingleTarget();

  std::vector<Token> tokens_;
  size_t pos_ = 0;
  int nesting_ = 0;
  int loops_ = 0;                   // for loops around, within the innermost macro
  std::vector<MacroBody*> macros_;  // around, outermost first
};

}  // namespace hexlane::jinja

#endif  // HEXLANE_RUNTIME_JINJA_PARSER_H_
