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

}  // namespace

Result<ExprPtr> Parser::ConditionalExpr() {
  Nesting nesting(*this);
  TRY(nesting.Check());
  const int line = Current().line;
  ExprPtr value = TRY(Or());
  int operators = 0;
  while (SkipName("if")) {
    TRY(CountOperator(operators));
    auto node = MakeNode<Conditional>(line);
    node->then = std::move(value);
    node->condition = TRY(Or());
    if (SkipName("else")) node->otherwise = TRY(ConditionalExpr());
    value = std::move(node);
  }
  return value;
}

Result<ExprPtr> Parser::Or() {
  ExprPtr left = TRY(And());
  int operators = 0;
  for (int line = Current().line; SkipName("or"); line = Current().line) {
    TRY(CountOperator(operators));
    left = MakeLogic(line, false, std::move(left), TRY(And()));
  }
  return left;
}

Result<ExprPtr> Parser::And() {
  ExprPtr left = TRY(Not());
  int operators = 0;
  for (int line = Current().line; SkipName("and"); line = Current().line) {
    TRY(CountOperator(operators));
    left = MakeLogic(line, true, std::move(left), TRY(Not()));
  }
  return left;
}

Result<ExprPtr> Parser::Not() {
  if (!AtName("not")) return Compare();
  Nesting nesting(*this);
  TRY(nesting.Check());
  auto node = MakeNode<Unary>(Take().line);
  node->operand = TRY(Not());
  return node;
}

Result<ExprPtr> Parser::Compare() {
  auto node = MakeNode<Comparison>(Current().line);
  node->first = TRY(Sum());
  while (true) {
    std::optional<Op> op;
    if (AtKind(Kind::kOperator)) op = ComparisonOp(Current().text);
    if (op) {
      Take();
    } else if (SkipName("in")) {
      op = Op::kIn;
    } else if (AtName("not") && Ahead().kind == Kind::kName && Ahead().text == "in") {
      Take();
      Take();
      op = Op::kNotIn;
    } else {
      break;
    }
    node->rest.emplace_back(*op, TRY(Sum()));
  }
  if (node->rest.empty()) return std::move(node->first);
  return node;
}

Result<ExprPtr> Parser::Sum() {
  ExprPtr left = TRY(Tildes());
  int operators = 0;
  while (AtOp("+") || AtOp("-")) {
    TRY(CountOperator(operators));
    const Token op = Take();
    left =
        MakeBinary(op.line, op.text == "+" ? Op::kAdd : Op::kSub, std::move(left), TRY(Tildes()));
  }
  return left;
}

Result<ExprPtr> Parser::Tildes() {
  auto node = MakeNode<Concat>(Current().line);
  node->parts.push_back(TRY(Product()));
  while (SkipOp("~")) node->parts.push_back(TRY(Product()));
  if (node->parts.size() == 1) return std::move(node->parts[0]);
  return node;
}

Result<ExprPtr> Parser::Product() {
  ExprPtr left = TRY(PowerExpr());
  int operators = 0;
  while (AtOp("*") || AtOp("/") || AtOp("//") || AtOp("%")) {
    TRY(CountOperator(operators));
    const Token token = Take();
    const Op op = token.text == "*"    ? Op::kMul
                  : token.text == "/"  ? Op::kDiv
                  : token.text == "//" ? Op::kFloorDiv
                                       : Op::kMod;
    left = MakeBinary(token.line, op, std::move(left), TRY(PowerExpr()));
  }
  return left;
}

Result<ExprPtr> Parser::PowerExpr() {  // from left to right, unlike Python
  ExprPtr left = TRY(UnaryExpr(true));
  int operators = 0;
  for (int line = Current().line; SkipOp("**"); line = Current().line) {
    TRY(CountOperator(operators));
    left = MakeBinary(line, Op::kPow, std::move(left), TRY(UnaryExpr(true)));
  }
  return left;
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
  const auto item = [&] { return with_condition ? Expression() : Or(); };
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
