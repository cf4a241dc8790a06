#include "runtime/jinja/parser.h"

#include "runtime/jinja/parser_nesting.h"

namespace hexlane::jinja {
namespace {

using Kind = Token::Kind;

std::string Describe(const Token& token) {
  switch (token.kind) {
    case Kind::kVariableEnd: return "'}}'";
    case Kind::kBlockEnd: return "'%}'";
    case Kind::kEnd: return "the end of the template";
    case Kind::kText: return "a string";
    default: return fmt::format("'{}'", token.text);
  }
}

template <typename T>
std::unique_ptr<T> MakeNode(int line) {
  auto node = std::make_unique<T>();
  node->line = line;
  return node;
}

}  // namespace

bool Parser::AtAnyName(Names names) const {
  return AtKind(Kind::kName) &&
         std::find(names.begin(), names.end(), Current().text) != names.end();
}

bool Parser::SkipOp(std::string_view op) {
  if (!AtOp(op)) return false;
  Take();
  return true;
}

bool Parser::SkipName(std::string_view name) {
  if (!AtName(name)) return false;
  Take();
  return true;
}

Failure Parser::Unexpected(std::string_view want) const {
  return SyntaxFailure(Current().line, "unexpected {}", Describe(Current())).Want("{}", want);
}

Result<void> Parser::ExpectOp(std::string_view op) {
  if (SkipOp(op)) return {};
  return Unexpected(fmt::format("'{}'", op));
}

Result<void> Parser::ExpectName(std::string_view name) {
  if (SkipName(name)) return {};
  return Unexpected(fmt::format("'{}'", name));
}

Result<void> Parser::ExpectKind(Token::Kind kind, std::string_view what) {
  if (!AtKind(kind)) return Unexpected(what);
  Take();
  return {};
}

Result<std::string> Parser::TakeName() {
  if (!AtKind(Kind::kName)) return Unexpected("a name");
  return Take().text;
}

Result<void> Parser::CountOperator(int& operators) const {
  if (++operators <= kMaxChain) return {};
  return SyntaxFailure(Current().line, "an expression has too many operators")
      .Want("at most {} in a row", kMaxChain);
}

Result<std::shared_ptr<const Program>> Parser::Run() {
  auto program = std::make_shared<Program>();
  TRY(ParseUntil({}, program->body));
  return program;
}

Result<Block> Parser::Body(Names end_tags) {
  TRY(CloseTag());
  Block block;
  TRY(ParseUntil(end_tags, block));
  return block;
}

Result<void> Parser::ParseUntil(Names end_tags, Block& block) {
  Nesting nesting(*this);
  TRY(nesting.Check());
  while (!AtKind(Kind::kEnd)) {
    const Token token = Take();
    if (token.kind == Kind::kData) {
      auto data = MakeNode<Data>(token.line);
      data->text = token.text;
      block.push_back(std::move(data));
    } else if (token.kind == Kind::kVariableBegin) {
      TRY(ParsePrint(block));
      TRY(ExpectKind(Kind::kVariableEnd, "end of print statement"));
    } else {
      if (AtAnyName(end_tags)) return {};
      TRY(Statement(block));
      TRY(CloseTag());
    }
  }
  if (end_tags.size() == 0) return {};
  return SyntaxFailure(Current().line, "unexpected end of template")
      .Want("'{}'", *(end_tags.end() - 1));
}

Result<void> Parser::ParsePrint(Block& block) {
  auto node = MakeNode<Print>(Current().line);
  node->value = TRY(TupleOrExpression(true));
  block.push_back(std::move(node));
  return {};
}

Result<void> Parser::ParsePrintTag(Block& block) {
  for (bool first = true; !AtKind(Kind::kBlockEnd); first = false) {
    if (!first) TRY(ExpectOp(","));
    auto node = MakeNode<Print>(Current().line);
    node->value = TRY(Expression());
    block.push_back(std::move(node));
  }
  return {};
}

Result<void> Parser::Statement(Block& block) {
  const int line = Current().line;
  if (!AtKind(Kind::kName)) return Unexpected("the name of a tag");
  const std::string tag = Take().text;
  if (tag == "if") return ParseIf(block);
  if (tag == "for") return ParseFor(block);
  if (tag == "set") return ParseSet(block);
  if (tag == "macro") return ParseMacro(block);
  if (tag == "call") return ParseCallBlock(block);
  if (tag == "filter") return ParseFilterBlock(block);
  if (tag == "with") return ParseWith(block);
  if (tag == "generation") return ParseGeneration(block);
  if (tag == "break") return ParseLoopControl(block, Flow::kBreak);
  if (tag == "continue") return ParseLoopControl(block, Flow::kContinue);
  if (tag == "print") return ParsePrintTag(block);
  for (const std::string_view known :
       {"block", "extends", "include", "import", "from", "autoescape"})
    if (tag == known)
      return Unsupported("the tag '{}' has no meaning in a chat template", tag)
          .At("chat template line {}", line);
  return SyntaxFailure(line, "unknown tag '{}'", tag);
}

Result<void> Parser::ParseIf(Block& block) {
  auto node = MakeNode<If>(Current().line);
  do {
    ExprPtr condition = TRY(TupleOrExpression(false));
    if (AtName("if")) return Unexpected("'%}'");
    node->branches.emplace_back(std::move(condition), TRY(Body({"elif", "else", "endif"})));
  } while (SkipName("elif"));
  if (SkipName("else")) node->otherwise = TRY(Body({"endif"}));
  TRY(ExpectName("endif"));
  block.push_back(std::move(node));
  return {};
}

Result<void> Parser::ParseFor(Block& block) {
  auto node = MakeNode<For>(Current().line);
  node->target = TRY(AssignTarget(true, {"in"}));
  TRY(ExpectName("in"));
  node->items = TRY(TupleOrExpression(false, {"recursive"}));
  if (SkipName("if")) node->condition = TRY(Expression());
  node->recursive = SkipName("recursive");
  ++loops_;
  node->body = TRY(Body({"else", "endfor"}));
  --loops_;
  if (SkipName("else")) node->otherwise = TRY(Body({"endfor"}));
  TRY(ExpectName("endfor"));
  block.push_back(std::move(node));
  return {};
}

Result<void> Parser::ParseLoopControl(Block& block, Flow flow) {
  if (loops_ == 0) return SyntaxFailure(Current().line, "break or continue outside of a loop");
  auto node = MakeNode<LoopControl>(Current().line);
  node->flow = flow;
  block.push_back(std::move(node));
  return {};
}

Result<void> Parser::ParseSet(Block& block) {
  const int line = Current().line;
  Target target = TRY(AssignTarget(true));
  if (SkipOp("=")) {
    auto node = MakeNode<Set>(line);
    node->target = std::move(target);
    node->value = TRY(TupleOrExpression(true));
    block.push_back(std::move(node));
    return {};
  }
  auto node = MakeNode<SetBlock>(line);
  node->target = std::move(target);
  if (SkipOp("|")) node->filter = TRY(FilterChain(TRY(Filter(nullptr))));
  node->body = TRY(Body({"endset"}));
  Take();
  block.push_back(std::move(node));
  return {};
}

Result<void> Parser::ParseWith(Block& block) {
  auto node = MakeNode<With>(Current().line);
  while (!AtKind(Kind::kBlockEnd)) {
    if (!node->assignments.empty()) TRY(ExpectOp(","));
    Target target = TRY(AssignTarget(false));
    TRY(ExpectOp("="));
    node->assignments.emplace_back(std::move(target), TRY(Expression()));
  }
  node->body = TRY(Body({"endwith"}));
  Take();
  block.push_back(std::move(node));
  return {};
}

Result<void> Parser::ParseGeneration(Block& block) {
  auto node = MakeNode<With>(Current().line);
  node->body = TRY(Body({"endgeneration"}));
  Take();
  block.push_back(std::move(node));
  return {};
}

Result<void> Parser::ParseFilterBlock(Block& block) {
  auto node = MakeNode<FilterBlock>(Current().line);
  node->filter = TRY(FilterChain(TRY(Filter(nullptr))));
  node->body = TRY(Body({"endfilter"}));
  Take();
  block.push_back(std::move(node));
  return {};
}

Result<void> Parser::Parameters(MacroBody& macro) {
  TRY(ExpectOp("("));
  while (!AtOp(")")) {
    if (!macro.parameters.empty()) TRY(ExpectOp(","));
    if (AtOp(")")) break;
    std::string name = TRY(TakeName());
    ExprPtr fallback;
    if (SkipOp("=")) {
      fallback = TRY(Expression());
    } else if (!macro.parameters.empty() && macro.parameters.back().second != nullptr) {
      return Unexpected("a default, as the parameter before has one");
    }
    macro.parameters.emplace_back(std::move(name), std::move(fallback));
  }
  return ExpectOp(")");
}

Result<void> Parser::MacroBlock(MacroBody& macro, std::string_view end_tag) {
  macros_.push_back(&macro);
  const int loops_around = std::exchange(loops_, 0);
  macro.body = TRY(Body({end_tag}));
  Take();
  loops_ = loops_around;
  macros_.pop_back();
  return {};
}

Result<void> Parser::ParseMacro(Block& block) {
  auto node = MakeNode<MacroDefinition>(Current().line);
  node->macro.name = TRY(TakeName());
  TRY(Parameters(node->macro));
  TRY(MacroBlock(node->macro, "endmacro"));
  block.push_back(std::move(node));
  return {};
}

Result<void> Parser::ParseCallBlock(Block& block) {
  auto node = MakeNode<CallBlock>(Current().line);
  node->caller.name = "caller";
  if (AtOp("(")) TRY(Parameters(node->caller));
  ExprPtr call = TRY(Expression());
  if (dynamic_cast<const CallExpr*>(call.get()) == nullptr)
    return SyntaxFailure(node->line, "expected a call after {{% call");
  node->call.reset(static_cast<const CallExpr*>(call.release()));
  TRY(MacroBlock(node->caller, "endcall"));
  block.push_back(std::move(node));
  return {};
}

Result<Target> Parser::SingleTarget() {
  if (AtOp("(")) {
    Nesting nesting(*this);
    TRY(nesting.Check());
    Take();
    Target target = TRY(AssignTarget(true));
    TRY(ExpectOp(")"));
    return target;
  }
  if (AtAnyName({"true", "false", "none", "True", "False", "None"}))
    return Unexpected("a name to assign to");
  Target target;
  target.name = TRY(TakeName());
  if (SkipOp(".")) target.attribute = TRY(TakeName());
  return target;
}

Result<Target> Parser::AssignTarget(bool with_tuple, Names stop) {
  Target first = TRY(SingleTarget());
  if (!with_tuple || !AtOp(",")) return first;
  Target tuple;
  tuple.targets.push_back(std::move(first));
  while (SkipOp(",") && !AtTupleEnd(stop) && !AtOp("="))
    tuple.targets.push_back(TRY(SingleTarget()));
  return tuple;
}

}  // namespace hexlane::jinja
