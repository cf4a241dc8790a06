// Expressions.
#include "runtime/jinja/ast.h"
#include "runtime/jinja/print.h"

namespace hexlane::jinja {
namespace {

[[gnu::noinline]] void SetLine(Error& error, int line) {
  if (error.where.empty()) error.where = fmt::format("chat template line {}", line);
}

[[gnu::noinline]] Result<Value> LimitFailure(const Expr& expr, Frame& frame) {
  Result<Value> failure = frame.env.EnterFailure();
  SetLine(failure.error(), expr.line);
  return failure;
}

Result<Value> OptionalPart(const ExprPtr& expr, Frame& frame) {
  if (expr == nullptr) return Value(None{});
  return Evaluate(*expr, frame);
}

Result<std::vector<Value>> EvaluateAll(const std::vector<ExprPtr>& exprs, Frame& frame) {
  std::vector<Value> values;
  values.reserve(exprs.size());
  for (const ExprPtr& expr : exprs) values.push_back(TRY(Evaluate(*expr, frame)));
  return values;
}

Result<void> SpreadDict(Frame& frame, const Value& value, Args& args) {
  if (!value.Is(Value::Kind::kDict))
    return InvalidInput("argument after ** must be a mapping, not {}", value.TypeName());
  TRY(frame.env.Scan(value));
  for (const auto& [key, item] : value.dict().entries) {
    if (!key.IsText()) return InvalidInput("keywords must be strings");
    args.named.emplace_back(key.text(), item);
  }
  return {};
}

}  // namespace

// Recursions go through here: kept small on the stack.
Result<Value> Evaluate(const Expr& expr, Frame& frame) {
  if (!frame.env.TryEnter()) return LimitFailure(expr, frame);
  Result<Value> value = expr.Eval(frame);
  frame.env.Leave();
  if (!value) SetLine(value.error(), expr.line);
  return value;
}

Result<Value> Name::Eval(Frame& frame) const {
  const Value* value = TRY(frame.Find(name));
  if (value != nullptr) return *value;
  return Value::MakeUndefined(fmt::format("'{}' is undefined", name));
}

Result<Value> Display::Eval(Frame& frame) const {
  std::vector<Value> values = TRY(EvaluateAll(items, frame));
  return is_tuple ? frame.env.MakeTuple(std::move(values)) : frame.env.MakeList(std::move(values));
}

Result<Value> DictDisplay::Eval(Frame& frame) const {
  std::vector<std::pair<Value, Value>> values;
  for (const auto& [key_expr, value_expr] : entries) {
    Value key = TRY(Evaluate(*key_expr, frame));
    Value value = TRY(Evaluate(*value_expr, frame));
    if (key.Depth() > 0 && !key.Is(Value::Kind::kTuple))
      return InvalidInput("unhashable type: '{}'", key.TypeName());
    TRY(frame.env.Step(values.size() / 8));
    const auto same = [&](const auto& entry) { return EqualScalars(entry.first, key); };
    const auto it = std::find_if(values.begin(), values.end(), same);
    if (it != values.end()) {
      it->second = std::move(value);
    } else {
      values.emplace_back(std::move(key), std::move(value));
    }
  }
  return frame.env.MakeDict(std::move(values));
}

Result<Value> GetAttr::Eval(Frame& frame) const {
  const Value value = TRY(Evaluate(*object, frame));
  return GetAttribute(frame.env, value, name);
}

Result<Value> Subscript::Eval(Frame& frame) const {
  const Value value = TRY(Evaluate(*object, frame));
  const Value index = TRY(Evaluate(*key, frame));
  return GetItem(frame.env, value, index);
}

Result<Value> SliceExpr::Eval(Frame& frame) const {
  const Value value = TRY(Evaluate(*object, frame));
  const Value first = TRY(OptionalPart(start, frame));
  const Value last = TRY(OptionalPart(stop, frame));
  const Value stride = TRY(OptionalPart(step, frame));
  return Slice(frame.env, value, first, last, stride);
}

Result<void> Arguments::Eval(Frame& frame, Args& args) const {
  for (const ExprPtr& expr : positional) args.positional.push_back(TRY(Evaluate(*expr, frame)));
  for (const auto& [name, expr] : named) {
    if (args.Named(name) != nullptr)
      return InvalidInput("got multiple values for keyword argument '{}'", name);
    args.named.emplace_back(name, TRY(Evaluate(*expr, frame)));
  }
  if (list != nullptr) {
    const Value value = TRY(Evaluate(*list, frame));
    const SequenceRef items = TRY(Iterate(frame.env, value));
    TRY(frame.env.Allocate(items->items.size() * sizeof(Value)));
    args.positional.insert(args.positional.end(), items->items.begin(), items->items.end());
  }
  if (dict != nullptr) {
    const Value value = TRY(Evaluate(*dict, frame));
    TRY(SpreadDict(frame, value, args));
  }
  return {};
}

Result<Value> CallExpr::Eval(Frame& frame) const {
  const Value function = TRY(Evaluate(*callee, frame));
  Args args;
  TRY(arguments.Eval(frame, args));
  return CallValue(frame.env, function, std::move(args));
}

Result<Value> FilterExpr::Eval(Frame& frame) const {
  Value input = TRY(Evaluate(*value, frame));
  if (filter == nullptr) return InvalidInput("no filter named '{}'", name);
  Args args;
  args.positional.push_back(std::move(input));
  TRY(arguments.Eval(frame, args));
  return CallBuiltin(frame.env, *filter, std::move(args));
}

Result<Value> FilterExpr::Apply(Frame& frame, Value body) const {
  Args args;
  if (value == nullptr) {
    args.positional.push_back(std::move(body));
  } else {
    const auto& inner = static_cast<const FilterExpr&>(*value);
    args.positional.push_back(TRY(inner.Apply(frame, std::move(body))));
  }
  if (filter == nullptr) return InvalidInput("no filter named '{}'", name);
  TRY(arguments.Eval(frame, args));
  return CallBuiltin(frame.env, *filter, std::move(args));
}

Result<Value> TestExpr::Eval(Frame& frame) const {
  Value input = TRY(Evaluate(*value, frame));
  if (test == nullptr) return InvalidInput("no test named '{}'", name);
  Args args;
  args.positional.push_back(std::move(input));
  TRY(arguments.Eval(frame, args));
  const Value verdict = TRY(CallBuiltin(frame.env, *test, std::move(args)));
  return Value(verdict.Truth() != negated);
}

Result<Value> Unary::Eval(Frame& frame) const {
  const Value value = TRY(Evaluate(*operand, frame));
  if (kind == Kind::kNot) return Value(!value.Truth());
  if (kind == Kind::kMinus) return Negate(value);
  if (value.IsUndefined()) return UndefinedFailure(value);
  if (!value.IsNumber())
    return InvalidInput("bad operand type for unary +: '{}'", value.TypeName());
  return value.Is(Value::Kind::kBool) ? Value(value.integer()) : value;
}

Result<Value> Binary::Eval(Frame& frame) const {
  const Value a = TRY(Evaluate(*left, frame));
  const Value b = TRY(Evaluate(*right, frame));
  return Arithmetic(frame.env, op, a, b);
}

Result<Value> Logic::Eval(Frame& frame) const {
  Value a = TRY(Evaluate(*left, frame));
  if (a.Truth() != is_and) return a;
  return Evaluate(*right, frame);
}

Result<Value> Comparison::Eval(Frame& frame) const {
  Value left = TRY(Evaluate(*first, frame));
  for (const auto& [op, expr] : rest) {
    Value right = TRY(Evaluate(*expr, frame));
    if (!TRY(Compare(frame.env, op, left, right))) return Value(false);
    left = std::move(right);
  }
  return Value(true);
}

Result<Value> Concat::Eval(Frame& frame) const {
  std::string text;
  for (const ExprPtr& part : parts) {
    const Value value = TRY(Evaluate(*part, frame));
    text += TRY(Str(frame.env, value));
    if (text.size() > frame.env.options().max_output_bytes) break;  // MakeText refuses it
  }
  return frame.env.MakeText(std::move(text));
}

Result<Value> Conditional::Eval(Frame& frame) const {
  if (TRY(Evaluate(*condition, frame)).Truth()) return Evaluate(*then, frame);
  if (otherwise != nullptr) return Evaluate(*otherwise, frame);
  return Value::MakeUndefined("the inline if-expression evaluated to false and no else was given");
}

}  // namespace hexlane::jinja
