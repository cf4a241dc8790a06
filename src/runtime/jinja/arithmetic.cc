#include <cmath>

#include "runtime/jinja/operators.h"
#include "runtime/jinja/print.h"
#include "runtime/jinja/text.h"

namespace hexlane::jinja {
namespace {

using Kind = Value::Kind;

constexpr std::string_view OpName(Op op) {
  switch (op) {
    case Op::kAdd: return "+";
    case Op::kSub: return "-";
    case Op::kMul: return "*";
    case Op::kDiv: return "/";
    case Op::kFloorDiv: return "//";
    case Op::kMod: return "%";
    case Op::kPow: return "**";
    default: return "?";
  }
}

Failure Overflow() { return InvalidInput("an integer needs more than 127 bits"); }

Failure WrongTypes(Op op, const Value& a, const Value& b) {
  if (op == Op::kAdd && (a.IsText() || a.Is(Kind::kList) || a.Is(Kind::kTuple)))
    return InvalidInput("can only concatenate {} (not \"{}\") to {}", a.TypeName(), b.TypeName(),
                        a.TypeName());
  return InvalidInput("unsupported operand type(s) for {}: '{}' and '{}'", OpName(op), a.TypeName(),
                      b.TypeName());
}

// Rounds towards minus infinity, as Python does. b is not 0.
Int FloorDiv(Int a, Int b) {
  const Int quotient = a / b;
  return quotient * b != a && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

double FloorMod(double a, double b) {
  const double rest = std::fmod(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

Result<Value> OnIntegers(Op op, Int a, Int b) {
  Int result = 0;
  switch (op) {
    case Op::kAdd:
      if (__builtin_add_overflow(a, b, &result)) return Overflow();
      return Value(result);
    case Op::kSub:
      if (__builtin_sub_overflow(a, b, &result)) return Overflow();
      return Value(result);
    case Op::kMul:
      if (__builtin_mul_overflow(a, b, &result)) return Overflow();
      return Value(result);
    default: break;
  }
  if (b == 0) return InvalidInput("division by zero");
  if (op == Op::kDiv) return Value(static_cast<double>(a) / static_cast<double>(b));
  if (b == -1) return op == Op::kMod ? Value(Int{0}) : OnIntegers(Op::kSub, 0, a);
  const Int quotient = FloorDiv(a, b);
  return Value(op == Op::kFloorDiv ? quotient : a - quotient * b);
}

Result<Value> OnReals(Op op, double a, double b) {
  switch (op) {
    case Op::kAdd: return Value(a + b);
    case Op::kSub: return Value(a - b);
    case Op::kMul: return Value(a * b);
    default: break;
  }
  if (b == 0) return InvalidInput("float division by zero");
  if (op == Op::kDiv) return Value(a / b);
  return Value(op == Op::kMod ? FloorMod(a, b) : std::round((a - FloorMod(a, b)) / b));
}

Result<Value> RepeatText(Env& env, const Value& value, size_t count) {
  const std::string& text = value.text();
  if (!text.empty() && count > env.options().max_output_bytes / text.size())
    return InvalidInput("a string grows too long")
        .Want("at most {} bytes", env.options().max_output_bytes);
  std::string out;
  out.reserve(text.size() * count);
  for (size_t i = 0; !text.empty() && i < count; ++i) out += text;
  return env.MakeText(std::move(out), value.IsMarkup());
}

Result<Value> Repeat(Env& env, const Value& value, Int times) {
  const size_t count = times <= 0 ? 0 : times > INT32_MAX ? INT32_MAX : static_cast<size_t>(times);
  if (value.IsText()) return RepeatText(env, value, count);
  const std::vector<Value>& items = value.sequence()->items;
  if (!items.empty()) TRY(env.Step(count));
  if (!items.empty()) TRY(env.Allocate(items.size() * count * sizeof(Value)));
  std::vector<Value> out;
  for (size_t i = 0; !items.empty() && i < count; ++i)
    out.insert(out.end(), items.begin(), items.end());
  return value.Is(Kind::kList) ? env.MakeList(std::move(out)) : env.MakeTuple(std::move(out));
}

Result<Value> Concatenate(Env& env, const Value& a, const Value& b) {
  if (a.IsText()) {
    const bool markup = a.IsMarkup() || b.IsMarkup();
    const auto part = [&](const Value& value) {
      return markup && !value.IsMarkup() ? EscapeHtml(value.text()) : value.text();
    };
    return env.MakeText(part(a) + part(b), markup);
  }
  std::vector<Value> items = a.sequence()->items;
  items.insert(items.end(), b.sequence()->items.begin(), b.sequence()->items.end());
  return a.Is(Kind::kList) ? env.MakeList(std::move(items)) : env.MakeTuple(std::move(items));
}

bool IsRepeatable(const Value& value) {
  return value.IsText() || value.Is(Kind::kList) || value.Is(Kind::kTuple);
}

}  // namespace

Failure UndefinedFailure(const Value& undefined) {
  return InvalidInput("{}", undefined.absent() ? "value is undefined" : undefined.reason());
}

Result<Value> Power(Env&, const Value& base, const Value& exponent) {
  if (!base.IsNumber() || !exponent.IsNumber()) return WrongTypes(Op::kPow, base, exponent);
  if (!base.IsInteger() || !exponent.IsInteger() || exponent.integer() < 0) {
    if (base.real() == 0 && exponent.real() < 0)
      return InvalidInput("0.0 cannot be raised to a negative power");
    const double result = std::pow(base.real(), exponent.real());
    if (std::isnan(result) && !std::isnan(base.real()) && !std::isnan(exponent.real()))
      return InvalidInput("the result of ** is complex");
    return Value(result);
  }
  Int result = 1;
  Int factor = base.integer();
  for (Int rest = exponent.integer(); rest > 0; rest /= 2) {
    if (rest % 2 != 0 && __builtin_mul_overflow(result, factor, &result)) return Overflow();
    if (rest > 1 && __builtin_mul_overflow(factor, factor, &factor)) return Overflow();
  }
  return Value(result);
}

Result<Value> Arithmetic(Env& env, Op op, const Value& a, const Value& b) {
  if (a.IsUndefined()) return UndefinedFailure(a);
  if (op == Op::kMod && a.IsText()) return PercentFormat(env, a.text(), b);
  if (b.IsUndefined()) return UndefinedFailure(b);
  if (op == Op::kPow) return Power(env, a, b);
  if (a.IsInteger() && b.IsInteger()) return OnIntegers(op, a.integer(), b.integer());
  if (a.IsNumber() && b.IsNumber()) return OnReals(op, a.real(), b.real());
  if (op == Op::kMul && IsRepeatable(a) && b.IsInteger()) return Repeat(env, a, b.integer());
  if (op == Op::kMul && a.IsInteger() && IsRepeatable(b)) return Repeat(env, b, a.integer());
  if (op == Op::kAdd && IsRepeatable(a) && a.kind() == b.kind()) return Concatenate(env, a, b);
  return WrongTypes(op, a, b);
}

Result<Value> Negate(const Value& value) {
  if (value.IsUndefined()) return UndefinedFailure(value);
  if (value.IsInteger()) return OnIntegers(Op::kSub, 0, value.integer());
  if (value.IsNumber()) return Value(-value.real());
  return InvalidInput("bad operand type for unary -: '{}'", value.TypeName());
}

}  // namespace hexlane::jinja
