#include "runtime/jinja/parser.h"
#include "runtime/jinja/parser_nesting.h"

namespace hexlane::jinja {
namespace {

using Kind = Token::Kind;

template <typename T>
std::unique_ptr<T> MakeNode(int line) {
  auto node = std::make_unique<T>();
  node->line = line;
  return node;
}

ExprPtr MakeLiteral(int line, Value value) {
  auto node = MakeNode<Literal>(line);
  node->value = std::move(value);
  return node;
}

ExprPtr MakeBinary(int line, Op op, ExprPtr left, ExprPtr right) {
  auto node = MakeNode<Binary>(line);
  node->op = op;
  node->left = std::move(left);
  node->right = std::move(right);
  return node;
}

ExprPtr MakeLogic(int line, bool is_and, ExprPtr left, ExprPtr right) {
  auto node = MakeNode<Logic>(line);
  node->is_and = is_and;
  node->left = std::move(left);
  node->right = std::move(right);
  return node;
}

std::optional<Op> ComparisonOp(std::string_view text) {
  if (text == "==") return Op::kEq;
  if (text == "!=") return Op::kNe;
  if (text == "<") return Op::kLt;
  if (text == "<=") return Op::kLe;
  if (text == ">") return Op::kGt;
  if (text == ">=") return Op::kGe;
  return std::nullopt;
}

Op ArithmeticOp(std::string_view text) {
  if (text == "+") return Op::kAdd;
  if (text == "-") return Op::kSub;
  if (text == "*") return Op::kMul;
  if (text == "/") return Op::kDiv;
  if (text == "//") return Op::kFloorDiv;
  return text == "%" ? Op::kMod : Op::kPow;
}

}  // namespace

Result<ExprPtr> Parser::ConditionalExpr() {
  Nesting nesting(*this);
  TRY(nesting.Check());
  const int line = Current().line;
  ExprPtr value = TRY(Operators(kOr));
  int operators = 0;
  while (SkipName("if")) {
    TRY(CountOperator(operators));
    auto node = MakeNode<Conditional>(line);
    node->then = std::move(value);
    node->condition = TRY(Operators(kOr));
    if (SkipName("else")) node->otherwise = TRY(ConditionalExpr());
    value = std::move(node);
  }
  return value;
}

// How tightly the operator at the current token binds; kNoOperator when there is none.
Parser::Level Parser::OperatorLevel() const {
  const std::string& text = Current().text;
  if (AtKind(Kind::kName)) {
    if (text == "or") return kOr;
    if (text == "and") return kAnd;
    const bool not_in = text == "not" && Ahead().kind == Kind::kName && Ahead().text == "in";
    return text == "in" || not_in ? kCompare : kNoOperator;
  }
  if (!AtKind(Kind::kOperator)) return kNoOperator;
  if (ComparisonOp(text)) return kCompare;
  if (text == "+" || text == "-") return kSum;
  if (text == "~") return kTilde;
  if (text == "*" || text == "/" || text == "//" || text == "%") return kProduct;
  return text == "**" ? kPower : kNoOperator;
}

// Operators that bind at least as tightly as `level`, by precedence climbing: few stack frames for
// deep nesting.
Result<ExprPtr> Parser::Operators(Level level) {
  ExprPtr left = TRY(AtName("not") && level <= kNot ? Not() : UnaryExpr(true));
  int operators = 0;
  while (OperatorLevel() != kNoOperator && OperatorLevel() >= level) {
    TRY(CountOperator(operators));
    left = TRY(Extend(OperatorLevel(), std::move(left)));
  }
  return left;
}

// `left` and the operator that follows, with its right side.
Result<ExprPtr> Parser::Extend(Level level, ExprPtr left) {
  if (level == kCompare) return Comparisons(std::move(left));
  if (level == kTilde) return Tildes(std::move(left));
  const Token token = Take();
  ExprPtr right = TRY(Operators(static_cast<Level>(level + 1)));
  if (level <= kAnd) return MakeLogic(token.line, level == kAnd, std::move(left), std::move(right));
  return MakeBinary(token.line, ArithmeticOp(token.text), std::move(left), std::move(right));
}

Result<ExprPtr> Parser::Not() {
  Nesting nesting(*this);
  TRY(nesting.Check());
  auto node = MakeNode<Unary>(Take().line);
  node->operand = TRY(Operators(kNot));
  return node;
}

Result<ExprPtr> Parser::Comparisons(ExprPtr first) {
  auto node = MakeNode<Comparison>(Current().line);
  node->first = std::move(first);
  while (OperatorLevel() == kCompare) {
    const std::string text = Take().text;
    if (text == "not") Take();
    const Op op = text == "not" ? Op::kNotIn : text == "in" ? Op::kIn : *ComparisonOp(text);
    node->rest.emplace_back(op, TRY(Operators(kSum)));
  }
  return node;
}

Result<ExprPtr> Parser::Tildes(ExprPtr first) {
  auto node = MakeNode<Concat>(Current().line);
  node->parts.push_back(std::move(first));
  while (SkipOp("~")) node->parts.push_back(TRY(Operators(kProduct)));
  return node;
}

Result<ExprPtr> Parser::UnaryExpr(bool with_filter) {
  ExprPtr value;
  if (AtOp("-") || AtOp("+")) {
    Nesting nesting(*this);
    TRY(nesting.Check());
    const Token sign = Take();
    auto node = MakeNode<Unary>(sign.line);
    node->kind = sign.text == "-" ? Unary::Kind::kMinus : Unary::Kind::kPlus;
    node->operand = TRY(UnaryExpr(false));
    value = std::move(node);
  } else {
    value = TRY(Primary());
  }
  value = TRY(Postfix(std::move(value)));
  return with_filter ? FilterOrTest(std::move(value)) : Result<ExprPtr>(std::move(value));
}

Result<ExprPtr> Parser::Primary() {
  switch (Current().kind) {
    case Kind::kName: return NameOrConstant();
    case Kind::kText: return Text();
    case Kind::kNumber: {
      Token number = Take();
      return MakeLiteral(number.line, std::move(number.number));
    }
    default: break;
  }
  if (AtOp("(")) return Parenthesised();
  if (AtOp("[")) return ListDisplay();
  if (AtOp("{")) return ParseDict();
  return Unexpected("an expression");
}

Result<ExprPtr> Parser::NameOrConstant() {
  Token token = Take();
  const std::string& text = token.text;
  if (text == "true" || text == "True") return MakeLiteral(token.line, true);
  if (text == "false" || text == "False") return MakeLiteral(token.line, false);
  if (text == "none" || text == "None") return MakeLiteral(token.line, None{});
  for (MacroBody* macro : macros_) {
    macro->uses_caller |= text == "caller";
    macro->uses_varargs |= text == "varargs";
    macro->uses_kwargs |= text == "kwargs";
  }
  auto node = MakeNode<Name>(token.line);
  node->name = std::move(token.text);
  return node;
}

Result<ExprPtr> Parser::Text() {
  const int line = Current().line;
  std::string text;
  while (AtKind(Kind::kText)) text += Take().text;
  return MakeLiteral(line, Value(std::move(text)));
}

Result<ExprPtr> Parser::ListDisplay() {
  auto node = MakeNode<Display>(Take().line);
  while (!AtOp("]")) {
    if (!node->items.empty()) TRY(ExpectOp(","));
    if (AtOp("]")) break;
    node->items.push_back(TRY(Expression()));
  }
  TRY(ExpectOp("]"));
  return node;
}

Result<ExprPtr> Parser::ParseDict() {
  auto node = MakeNode<DictDisplay>(Take().line);
  while (!AtOp("}")) {
    if (!node->entries.empty()) TRY(ExpectOp(","));
    if (AtOp("}")) break;
    ExprPtr key = TRY(Expression());
    TRY(ExpectOp(":"));
    ExprPtr value = TRY(Expression());
    node->entries.emplace_back(std::move(key), std::move(value));
  }
  TRY(ExpectOp("}"));
  return node;
}

Result<ExprPtr> Parser::Parenthesised() {
  const int line = Take().line;
  if (SkipOp(")")) {
    auto empty = MakeNode<Display>(line);
    empty->is_tuple = true;
    return empty;
  }
  ExprPtr value = TRY(TupleOrExpression(true));
  TRY(ExpectOp(")"));
  return value;
}

bool Parser::AtTupleEnd(Names stop) const {
  return AtKind(Kind::kVariableEnd) || AtKind(Kind::kBlockEnd) || AtOp(")") || AtAnyName(stop);
}

Result<ExprPtr> Parser::TupleOrExpression(bool with_condition, Names stop) {
  const auto item = [&] { return with_condition ? Expression() : Operators(kOr); };
  const int line = Current().line;
  std::vector<ExprPtr> items;
  items.push_back(TRY(item()));
  if (!AtOp(",")) return std::move(items[0]);
  while (SkipOp(",") && !AtTupleEnd(stop)) items.push_back(TRY(item()));
  auto node = MakeNode<Display>(line);
  node->is_tuple = true;
  node->items = std::move(items);
  return node;
}

}  // namespace hexlane::jinja
