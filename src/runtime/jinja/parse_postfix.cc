// What follows a value: .name [key] (arguments) |filter `is test`.
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

}  // namespace

Result<ExprPtr> Parser::Postfix(ExprPtr value) {
  int operators = 0;
  while (true) {
    if (AtOp(".")) {
      value = TRY(Dot(std::move(value)));
    } else if (AtOp("[")) {
      value = TRY(Bracket(std::move(value)));
    } else if (AtOp("(")) {
      value = TRY(Call(std::move(value)));
    } else {
      return value;
    }
    TRY(CountOperator(operators));
  }
}

Result<ExprPtr> Parser::FilterOrTest(ExprPtr value) {
  int operators = 0;
  while (true) {
    if (SkipOp("|")) {
      value = TRY(Filter(std::move(value)));
    } else if (SkipName("is")) {
      value = TRY(Test(std::move(value)));
    } else if (AtOp("(")) {
      value = TRY(Call(std::move(value)));
    } else {
      return value;
    }
    TRY(CountOperator(operators));
  }
}

Result<ExprPtr> Parser::Dot(ExprPtr object) {
  const Token dot = Take();
  if (AtKind(Kind::kName)) {
    auto node = MakeNode<GetAttr>(dot.line);
    node->object = std::move(object);
    node->name = Take().text;
    return node;
  }
  if (!AtKind(Kind::kNumber) || !Current().number.IsInteger())
    return Unexpected("a name or a number after '.'");
  auto node = MakeNode<Subscript>(dot.line);
  auto key = MakeNode<Literal>(dot.line);
  key->value = Take().number;
  node->object = std::move(object);
  node->key = std::move(key);
  return node;
}

Result<ExprPtr> Parser::Bracket(ExprPtr object) {
  const int line = Take().line;
  ExprPtr parts[3];
  int colons = 0;
  while (!AtOp("]") && colons < 3) {
    if (SkipOp(":")) {
      ++colons;
    } else if (colons < 3 && parts[colons] == nullptr) {
      parts[colons] = TRY(TupleOrExpression(true));
    } else {
      break;
    }
  }
  if (colons > 2 || (colons == 0 && parts[0] == nullptr)) return Unexpected("a subscript");
  TRY(ExpectOp("]"));
  if (colons == 0) {
    auto node = MakeNode<Subscript>(line);
    node->object = std::move(object);
    node->key = std::move(parts[0]);
    return node;
  }
  auto node = MakeNode<SliceExpr>(line);
  node->object = std::move(object);
  node->start = std::move(parts[0]);
  node->stop = std::move(parts[1]);
  node->step = std::move(parts[2]);
  return node;
}

Result<ExprPtr> Parser::Call(ExprPtr callee) {
  auto node = MakeNode<CallExpr>(Current().line);
  node->callee = std::move(callee);
  TRY(CallArguments(node->arguments));
  return node;
}

Result<void> Parser::CallArguments(Arguments& arguments) {
  TRY(ExpectOp("("));
  bool first = true;
  while (!AtOp(")")) {
    if (!first) TRY(ExpectOp(","));
    first = false;
    if (AtOp(")")) break;
    TRY(CallArgument(arguments));
  }
  return ExpectOp(")");
}

Result<void> Parser::CallArgument(Arguments& arguments) {
  if (AtOp("*") || AtOp("**")) {
    ExprPtr& spread = Take().text == "*" ? arguments.list : arguments.dict;
    if (spread != nullptr) return Unexpected("one * and one ** argument");
    spread = TRY(Expression());
    return {};
  }
  if (AtKind(Kind::kName) && Ahead().kind == Kind::kOperator && Ahead().text == "=") {
    std::string name = Take().text;
    Take();
    arguments.named.emplace_back(std::move(name), TRY(Expression()));
    return {};
  }
  if (!arguments.named.empty() || arguments.dict != nullptr)
    return Unexpected("a named argument after named arguments");
  arguments.positional.push_back(TRY(Expression()));
  return {};
}

Result<std::string> Parser::DottedName() {
  std::string name = TRY(TakeName());
  while (SkipOp(".")) {
    name += '.';
    name += TRY(TakeName());
  }
  return name;
}

Result<std::unique_ptr<FilterExpr>> Parser::Filter(ExprPtr value) {
  auto node = MakeNode<FilterExpr>(Current().line);
  node->value = std::move(value);
  node->name = TRY(DottedName());
  node->filter = FindFilter(node->name);
  if (AtOp("(")) TRY(CallArguments(node->arguments));
  return node;
}

Result<std::unique_ptr<FilterExpr>> Parser::FilterChain(std::unique_ptr<FilterExpr> first) {
  std::unique_ptr<FilterExpr> filter = std::move(first);
  int operators = 0;
  while (SkipOp("|")) {
    TRY(CountOperator(operators));
    filter = TRY(Filter(std::move(filter)));
  }
  return filter;
}

Result<ExprPtr> Parser::Test(ExprPtr value) {
  auto node = MakeNode<TestExpr>(Current().line);
  node->negated = SkipName("not");
  node->value = std::move(value);
  node->name = TRY(DottedName());
  node->test = FindTest(node->name);
  TRY(TestArguments(*node));
  return node;
}

Result<void> Parser::TestArguments(TestExpr& test) {
  if (AtOp("(")) return CallArguments(test.arguments);
  const bool starts_value =
      AtKind(Kind::kName) || AtKind(Kind::kText) || AtKind(Kind::kNumber) || AtOp("[") || AtOp("{");
  if (!starts_value || AtAnyName({"else", "or", "and"})) return {};
  if (AtName("is")) return Unexpected("no chain of tests with 'is'");
  ExprPtr argument = TRY(Primary());
  test.arguments.positional.push_back(TRY(Postfix(std::move(argument))));
  return {};
}

}  // namespace hexlane::jinja
