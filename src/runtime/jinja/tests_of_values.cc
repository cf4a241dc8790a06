// The tests after `is`.
#include "runtime/jinja/builtins.h"
#include "runtime/jinja/objects.h"
#include "runtime/jinja/operators.h"
#include "runtime/jinja/print.h"
#include "runtime/jinja/text.h"

namespace hexlane::jinja {
namespace {

using Kind = Value::Kind;

template <Op op>
Result<Value> CompareTest(Env& env, const Args& args) {
  return Value(TRY(Compare(env, op, args[0], args[1])));
}

template <Kind kind>
Result<Value> KindTest(Env&, const Args& args) {
  return Value(args[0].Is(kind));
}

Result<Value> Defined(Env&, const Args& args) { return Value(!args[0].IsUndefined()); }
Result<Value> IsUndefinedTest(Env&, const Args& args) { return Value(args[0].IsUndefined()); }
Result<Value> NumberTest(Env&, const Args& args) { return Value(args[0].IsNumber()); }
Result<Value> TrueTest(Env&, const Args& args) {
  return Value(args[0].Is(Kind::kBool) && args[0].boolean());
}
Result<Value> FalseTest(Env&, const Args& args) {
  return Value(args[0].Is(Kind::kBool) && !args[0].boolean());
}
Result<Value> SameAsTest(Env&, const Args& args) { return Value(args[0].SameAs(args[1])); }
Result<Value> EscapedTest(Env&, const Args& args) { return Value(args[0].IsMarkup()); }

Result<Value> CallableTest(Env&, const Args& args) {
  return Value(args[0].IsUndefined() ||  // as in Jinja: it has a __call__ that fails
               (args[0].Is(Kind::kObject) && args[0].object().Callable()));
}

Result<Value> IterableTest(Env&, const Args& args) {
  if (args[0].Is(Kind::kObject)) return Value(args[0].object().Iterable());
  return Value(!args[0].IsNone() && !args[0].IsNumber());
}

Result<Value> SequenceTest(Env&, const Args& args) {
  if (args[0].Is(Kind::kObject)) return Value(args[0].As<Range>() != nullptr);
  return Value(!args[0].IsNone() && !args[0].IsNumber());
}

Result<Value> Remainder(Env& env, const Value& value, Int divisor, Int want) {
  const Value rest = TRY(Arithmetic(env, Op::kMod, value, Value(divisor)));
  return Value(TRY(Equal(env, rest, Value(want))));
}
Result<Value> OddTest(Env& env, const Args& args) { return Remainder(env, args[0], 2, 1); }
Result<Value> EvenTest(Env& env, const Args& args) { return Remainder(env, args[0], 2, 0); }
Result<Value> DivisibleTest(Env& env, const Args& args) {
  return Remainder(env, args[0], TRY(IntArg(args[1], 0)), 0);
}

// str(value).islower() and isupper(): some cased letter, none of the other case.
Result<Value> CaseTest(Env& env, const Value& value, bool upper) {
  bool found = false;
  const std::string text = TRY(TextArg(env, value));
  for (const std::string_view c : Chars(text)) {
    const char32_t code = CharAt(c, 0).code;
    if (upper ? IsLower(code) : IsUpper(code)) return Value(false);
    found = found || (upper ? IsUpper(code) : IsLower(code));
  }
  return Value(found);
}
Result<Value> LowerTest(Env& env, const Args& args) { return CaseTest(env, args[0], false); }
Result<Value> UpperTest(Env& env, const Args& args) { return CaseTest(env, args[0], true); }

Result<Value> FilterTest(Env&, const Args& args) {
  return Value(args[0].IsText() && FindFilter(args[0].text()) != nullptr);
}
Result<Value> TestTest(Env&, const Args& args) {
  return Value(args[0].IsText() && FindTest(args[0].text()) != nullptr);
}

constexpr Builtin kTests[] = {
    {"defined", "value", 0, Defined},
    {"undefined", "value", 0, IsUndefinedTest},
    {"none", "value", 0, KindTest<Kind::kNone>},
    {"boolean", "value", 0, KindTest<Kind::kBool>},
    {"true", "value", 0, TrueTest},
    {"false", "value", 0, FalseTest},
    {"integer", "value", 0, KindTest<Kind::kInt>},
    {"float", "value", 0, KindTest<Kind::kFloat>},
    {"number", "value", 0, NumberTest},
    {"string", "value", 0, KindTest<Kind::kText>},
    {"mapping", "value", 0, KindTest<Kind::kDict>},
    {"iterable", "value", 0, IterableTest},
    {"sequence", "value", 0, SequenceTest},
    {"callable", "value", 0, CallableTest},
    {"sameas", "value other", 0, SameAsTest},
    {"escaped", "value", 0, EscapedTest},
    {"odd", "value", 0, OddTest},
    {"even", "value", 0, EvenTest},
    {"divisibleby", "value num", 2, DivisibleTest},
    {"lower", "value", 0, LowerTest},
    {"upper", "value", 0, UpperTest},
    {"filter", "value", 0, FilterTest},
    {"test", "value", 0, TestTest},
    {"in", "value seq", 0, CompareTest<Op::kIn>},
    {"eq", "a b", 0, CompareTest<Op::kEq>},
    {"==", "a b", 0, CompareTest<Op::kEq>},
    {"equalto", "a b", 0, CompareTest<Op::kEq>},
    {"ne", "a b", 0, CompareTest<Op::kNe>},
    {"!=", "a b", 0, CompareTest<Op::kNe>},
    {"lt", "a b", 0, CompareTest<Op::kLt>},
    {"<", "a b", 0, CompareTest<Op::kLt>},
    {"lessthan", "a b", 0, CompareTest<Op::kLt>},
    {"le", "a b", 0, CompareTest<Op::kLe>},
    {"<=", "a b", 0, CompareTest<Op::kLe>},
    {"gt", "a b", 0, CompareTest<Op::kGt>},
    {">", "a b", 0, CompareTest<Op::kGt>},
    {"greaterthan", "a b", 0, CompareTest<Op::kGt>},
    {"ge", "a b", 0, CompareTest<Op::kGe>},
    {">=", "a b", 0, CompareTest<Op::kGe>},
};

}  // namespace

const Builtin* FindTest(std::string_view name) {
  for (const Builtin& row : kTests)
    if (row.name == name) return &row;
  return nullptr;
}

}  // namespace hexlane::jinja
