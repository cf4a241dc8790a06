// default, tojson, and the filters on numbers.
#include <cmath>

#include "runtime/jinja/builtins.h"
#include "runtime/jinja/literals.h"
#include "runtime/jinja/operators.h"
#include "runtime/jinja/print.h"
#include "runtime/jinja/text_lines.h"

namespace hexlane::jinja {
namespace {

using Kind = Value::Kind;

constexpr double kIntLimit = 8.5e37;  // 2^126

std::optional<Int> Truncated(double value) {
  if (!(std::abs(value) < kIntLimit)) return std::nullopt;
  return static_cast<Int>(value);
}

Result<Value> Default(Env& env, const Args& args) {
  const bool replace = BoolArg(args[2], false) ? !args[0].Truth() : args[0].IsUndefined();
  if (!replace) return args[0];
  return args[1].absent() ? env.MakeText("") : args[1];
}

Result<Value> IntFilter(Env&, const Args& args) {
  const Value& value = args[0];
  if (value.IsUndefined()) return UndefinedFailure(value);
  const Int base = TRY(IntArg(args[2], 10));
  if (base < 2 || base > 36) return InvalidInput("int() base must be >= 2 and <= 36");
  std::optional<Int> number;
  if (value.IsInteger()) number = value.integer();
  if (value.Is(Kind::kFloat)) number = Truncated(value.real());
  if (value.IsText()) {
    number = ParseInt(value.text(), static_cast<int>(base));
    if (!number) {
      if (const std::optional<double> real = ParseFloat(value.text())) number = Truncated(*real);
    }
  }
  if (number) return Value(*number);
  return args[1].absent() ? Value(Int{0}) : args[1];
}

Result<Value> FloatFilter(Env&, const Args& args) {
  if (args[0].IsUndefined()) return UndefinedFailure(args[0]);
  if (args[0].IsNumber()) return Value(args[0].real());
  if (args[0].IsText())
    if (const std::optional<double> number = ParseFloat(args[0].text())) return Value(*number);
  return args[1].absent() ? Value(0.0) : args[1];
}

Result<Value> Abs(Env&, const Args& args) {
  const Value& value = args[0];
  if (value.IsUndefined()) return UndefinedFailure(value);
  if (!value.IsNumber()) return InvalidInput("bad operand type for abs(): '{}'", value.TypeName());
  if (value.Is(Kind::kFloat)) return Value(std::abs(value.real()));
  return value.integer() < 0 ? Negate(value) : Value(value.integer());
}

// Correctly rounded to `digits` decimals, ties to even on the exact binary value, as Python does.
double RoundReal(double value, Int digits) {
  if (!std::isfinite(value) || digits > 300) return value;
  if (digits < -300) return 0;
  if (digits < 0) {
    const double unit = std::pow(10.0, static_cast<double>(-digits));
    return std::nearbyint(value / unit) * unit;
  }
  const std::string text = fmt::format("{:.{}f}", value, static_cast<int>(digits));
  return std::strtod(text.c_str(), nullptr);
}

Int RoundInteger(Int value, Int digits) {
  if (digits >= 0) return value;
  if (digits < -37) return 0;
  Int unit = 1;
  for (; digits < 0; ++digits) unit *= 10;
  const Int rest = ((value % unit) + unit) % unit;
  const Int down = value - rest;
  const bool up = rest * 2 > unit || (rest * 2 == unit && (down / unit) % 2 != 0);
  return up ? down + unit : down;
}

Result<Value> Round(Env& env, const Args& args) {
  const Int digits = TRY(IntArg(args[1], 0));
  const std::string method = args[2].absent() ? "common" : TRY(TextArg(env, args[2]));
  if (method != "common" && method != "ceil" && method != "floor")
    return InvalidInput("method must be common, ceil or floor");
  if (args[0].IsUndefined()) return UndefinedFailure(args[0]);
  if (!args[0].IsNumber())
    return InvalidInput("type {} doesn't define __round__ method", args[0].TypeName());
  if (method != "common") {
    const double unit = std::pow(10.0, static_cast<double>(digits));
    const double scaled = args[0].real() * unit;
    return Value((method == "ceil" ? std::ceil(scaled) : std::floor(scaled)) / unit);
  }
  if (args[0].IsInteger()) return Value(RoundInteger(args[0].integer(), digits));
  return Value(RoundReal(args[0].real(), digits));
}

Result<JsonStyle> ReadJsonStyle(Env& env, const Args& args) {
  JsonStyle style;
  style.ensure_ascii = BoolArg(args[1], false);
  style.sort_keys = BoolArg(args[4], false);
  if (args[2].IsText()) {
    style.indent = args[2].text();
  } else if (!args[2].absent() && !args[2].IsNone()) {
    style.indent = TRY(Padding(env, TRY(IntArg(args[2], 0))));
  }
  if (style.indent) style.item_separator.resize(1);  // without the blank
  if (args[3].absent() || args[3].IsNone()) return style;
  const SequenceRef separators = TRY(Iterate(env, args[3]));
  if (separators->items.size() != 2) return InvalidInput("tojson wants two separators");
  style.item_separator = TRY(TextArg(env, separators->items[0]));
  style.key_separator = TRY(TextArg(env, separators->items[1]));
  return style;
}

Result<Value> ToJsonFilter(Env& env, const Args& args) {
  const JsonStyle style = TRY(ReadJsonStyle(env, args));
  return env.MakeText(TRY(ToJson(env, args[0], style)));
}

constexpr Builtin kFilters[] = {
    {"default", "value default_value boolean", 0, Default},
    {"d", "value default_value boolean", 0, Default},
    {"int", "value default base", 0, IntFilter},
    {"float", "value default", 0, FloatFilter},
    {"abs", "x", 0, Abs},
    {"round", "value precision method", 0, Round},
    {"tojson", "x ensure_ascii indent separators sort_keys", 0, ToJsonFilter},
};

}  // namespace

std::span<const Builtin> ValueFilters() { return kFilters; }

}  // namespace hexlane::jinja
