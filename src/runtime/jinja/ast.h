// The parsed template: nodes that evaluate themselves in a Frame. Immutable after parsing, shared
// by renderings.
#ifndef HEXLANE_RUNTIME_JINJA_AST_H_
#define HEXLANE_RUNTIME_JINJA_AST_H_

#include <algorithm>

#include "runtime/jinja/builtins.h"
#include "runtime/jinja/frame.h"
#include "runtime/jinja/operators.h"

namespace hexlane::jinja {

struct Expr {
  virtual ~Expr() = default;
  virtual Result<Value> Eval(
      Frame& frame) const = 0;  // call Evaluate instead: it counts and locates
  int line = 0;
};
using ExprPtr = std::unique_ptr<const Expr>;

enum class Flow { kNext, kBreak, kContinue };

struct Stmt {
  virtual ~Stmt() = default;
  virtual Result<Flow> Exec(Frame& frame) const = 0;
  int line = 0;
};
using Block = std::vector<std::unique_ptr<const Stmt>>;

struct Program {
  Block body;
};

Result<Value> Evaluate(const Expr& expr, Frame& frame);
Result<Flow> Execute(const Block& block, Frame& frame);
Result<std::string> Capture(const Block& block, Frame& frame);  // its output; in the frame's scope

// ---- expressions

struct Literal : Expr {
  Value value;
  Result<Value> Eval(Frame&) const override { return value; }
};

struct Name : Expr {
  std::string name;
  Result<Value> Eval(Frame& frame) const override;
};

struct Display : Expr {  // [a, b] or (a, b)
  bool is_tuple = false;
  std::vector<ExprPtr> items;
  Result<Value> Eval(Frame& frame) const override;
};

struct DictDisplay : Expr {
  std::vector<std::pair<ExprPtr, ExprPtr>> entries;
  Result<Value> Eval(Frame& frame) const override;
};

struct GetAttr : Expr {
  ExprPtr object;
  std::string name;
  Result<Value> Eval(Frame& frame) const override;
};

struct Subscript : Expr {
  ExprPtr object, key;
  Result<Value> Eval(Frame& frame) const override;
};

struct SliceExpr : Expr {
  ExprPtr object, start, stop, step;  // the last three may be null
  Result<Value> Eval(Frame& frame) const override;
};

struct Arguments {
  std::vector<ExprPtr> positional;
  std::vector<std::pair<std::string, ExprPtr>> named;
  ExprPtr list, dict;  // *list, **dict, or null

  // Appends to `args`.
  Result<void> Eval(Frame& frame, Args& args) const;
};

struct CallExpr : Expr {
  ExprPtr callee;
  Arguments arguments;
  Result<Value> Eval(Frame& frame) const override;
};

struct FilterExpr : Expr {
  ExprPtr value;  // null: the body of a filter or set block, passed as an argument of Apply
  std::string name;
  const Builtin* filter =
      nullptr;  // null when there is none of that name: an error only when reached
  Arguments arguments;
  Result<Value> Eval(Frame& frame) const override;
  // The filter, and the ones inside `value`, on the text of a block.
  Result<Value> Apply(Frame& frame, Value body) const;
};

struct TestExpr : Expr {
  ExprPtr value;
  std::string name;
  const Builtin* test = nullptr;
  Arguments arguments;
  bool negated = false;
  Result<Value> Eval(Frame& frame) const override;
};

struct Unary : Expr {
  enum class Kind { kNot, kMinus, kPlus } kind = Kind::kNot;
  ExprPtr operand;
  Result<Value> Eval(Frame& frame) const override;
};

struct Binary : Expr {
  Op op = Op::kAdd;
  ExprPtr left, right;
  Result<Value> Eval(Frame& frame) const override;
};

struct Logic : Expr {
  bool is_and = false;
  ExprPtr left, right;
  Result<Value> Eval(Frame& frame) const override;
};

struct Comparison : Expr {  // a < b < c is a < b and b < c
  ExprPtr first;
  std::vector<std::pair<Op, ExprPtr>> rest;
  Result<Value> Eval(Frame& frame) const override;
};

struct Concat : Expr {  // a ~ b ~ c
  std::vector<ExprPtr> parts;
  Result<Value> Eval(Frame& frame) const override;
};

struct Conditional : Expr {
  ExprPtr then, condition, otherwise;  // otherwise may be null: undefined
  Result<Value> Eval(Frame& frame) const override;
};

// ---- statements

struct Data : Stmt {
  std::string text;
  Result<Flow> Exec(Frame& frame) const override;
};

struct Print : Stmt {
  ExprPtr value;
  Result<Flow> Exec(Frame& frame) const override;
};

struct If : Stmt {
  std::vector<std::pair<ExprPtr, Block>> branches;
  Block otherwise;
  Result<Flow> Exec(Frame& frame) const override;
};

// Where an assignment goes: a name, namespace.attribute, or a tuple of targets.
struct Target {
  std::string name;
  std::string attribute;        // not empty: of the namespace `name`
  std::vector<Target> targets;  // not empty: unpack
};
Result<void> Assign(const Target& target, Value value, Frame& frame);

struct For : Stmt {
  Target target;
  ExprPtr items, condition;  // condition may be null
  Block body, otherwise;
  bool recursive = false;
  Result<Flow> Exec(Frame& frame) const override;
};

struct LoopControl : Stmt {
  Flow flow = Flow::kBreak;
  Result<Flow> Exec(Frame&) const override { return flow; }
};

struct Set : Stmt {
  Target target;
  ExprPtr value;
  Result<Flow> Exec(Frame& frame) const override;
};

struct SetBlock : Stmt {
  Target target;
  std::unique_ptr<const FilterExpr> filter;  // may be null
  Block body;
  Result<Flow> Exec(Frame& frame) const override;
};

struct FilterBlock : Stmt {
  std::unique_ptr<const FilterExpr> filter;
  Block body;
  Result<Flow> Exec(Frame& frame) const override;
};

struct With : Stmt {  // also {% generation %}: no assignments
  std::vector<std::pair<Target, ExprPtr>> assignments;
  Block body;
  Result<Flow> Exec(Frame& frame) const override;
};

struct MacroBody {
  std::string name;
  std::vector<std::pair<std::string, ExprPtr>> parameters;  // default may be null
  Block body;
  bool uses_caller = false, uses_varargs = false, uses_kwargs = false;
};

struct MacroDefinition : Stmt {
  MacroBody macro;
  Result<Flow> Exec(Frame& frame) const override;
};

struct CallBlock : Stmt {
  MacroBody caller;
  std::unique_ptr<const CallExpr> call;
  Result<Flow> Exec(Frame& frame) const override;
};

}  // namespace hexlane::jinja

#endif  // HEXLANE_RUNTIME_JINJA_AST_H_
