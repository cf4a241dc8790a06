#include "runtime/jinja/objects.h"
#include "runtime/jinja/operators.h"
#include "runtime/jinja/text.h"

namespace hexlane::jinja {
namespace {

using Kind = Value::Kind;

bool IsSequence(const Value& value) { return value.Is(Kind::kList) || value.Is(Kind::kTuple); }

Result<bool> EqualSequences(Env& env, const Sequence& a, const Sequence& b) {
  if (a.items.size() != b.items.size()) return false;
  for (size_t i = 0; i < a.items.size(); ++i)
    if (!TRY(Equal(env, a.items[i], b.items[i]))) return false;
  return true;
}

Result<bool> EqualDicts(Env& env, const Dict& a, const Dict& b) {
  if (a.entries.size() != b.entries.size()) return false;
  for (const auto& [key, value] : a.entries) {
    TRY(env.Step(1 + b.entries.size() / 8));
    const Value* other = b.Find(key);
    if (other == nullptr || !TRY(Equal(env, value, *other))) return false;
  }
  return true;
}

Result<bool> LessSequences(Env& env, const Sequence& a, const Sequence& b) {
  const size_t common = std::min(a.items.size(), b.items.size());
  for (size_t i = 0; i < common; ++i)
    if (!TRY(Equal(env, a.items[i], b.items[i]))) return Less(env, a.items[i], b.items[i]);
  return a.items.size() < b.items.size();
}

Result<bool> ContainsItem(Env& env, const Sequence& sequence, const Value& item) {
  for (const Value& other : sequence.items)
    if (TRY(Equal(env, other, item))) return true;
  return false;
}

Result<bool> Reversed(Result<bool> result, bool flip) {
  if (result && flip) return !*result;
  return result;
}

}  // namespace

bool EqualScalars(const Value& a, const Value& b) {
  if (a.IsInteger() && b.IsInteger()) return a.integer() == b.integer();
  if (a.IsNumber() && b.IsNumber()) return a.real() == b.real();
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case Kind::kUndefined:
    case Kind::kNone: return true;
    case Kind::kText: return a.text() == b.text();
    default: return a.SameAs(b);
  }
}

Result<bool> Equal(Env& env, const Value& a, const Value& b) {
  TRY(env.Step());
  if (IsSequence(a) && a.kind() == b.kind())
    return EqualSequences(env, *a.sequence(), *b.sequence());
  if (a.Is(Kind::kDict) && b.Is(Kind::kDict)) return EqualDicts(env, a.dict(), b.dict());
  return EqualScalars(a, b);
}

Result<bool> Less(Env& env, const Value& a, const Value& b) {
  TRY(env.Step());
  if (a.IsUndefined()) return UndefinedFailure(a);
  if (b.IsUndefined()) return UndefinedFailure(b);
  if (a.IsInteger() && b.IsInteger()) return a.integer() < b.integer();
  if (a.IsNumber() && b.IsNumber()) return a.real() < b.real();
  if (a.IsText() && b.IsText()) return a.text() < b.text();  // UTF-8 keeps the order of code points
  if (IsSequence(a) && a.kind() == b.kind())
    return LessSequences(env, *a.sequence(), *b.sequence());
  return InvalidInput("'<' or '>' not supported between instances of '{}' and '{}'", a.TypeName(),
                      b.TypeName());
}

Result<bool> Contains(Env& env, const Value& container, const Value& item) {
  TRY(env.Scan(container));
  switch (container.kind()) {
    case Kind::kText:
      if (!item.IsText())
        return InvalidInput("'in <string>' requires string as left operand, not {}",
                            item.TypeName());
      return FindText(container.text(), item.text()) != std::string::npos;
    case Kind::kDict: return container.dict().Find(item) != nullptr;
    case Kind::kUndefined: return false;
    default: break;
  }
  if (!IsSequence(container) && !container.Is(Kind::kObject))
    return InvalidInput("argument of type '{}' is not iterable", container.TypeName());
  return ContainsItem(env, *TRY(Iterate(env, container)), item);
}

Result<bool> Compare(Env& env, Op op, const Value& a, const Value& b) {
  switch (op) {
    case Op::kEq: return Equal(env, a, b);
    case Op::kNe: return Reversed(Equal(env, a, b), true);
    case Op::kLt: return Less(env, a, b);
    case Op::kGt: return Less(env, b, a);
    case Op::kIn: return Contains(env, b, a);
    case Op::kNotIn: return Reversed(Contains(env, b, a), true);
    default: break;
  }
  const bool less = TRY(op == Op::kLe ? Less(env, a, b) : Less(env, b, a));
  return less || TRY(Equal(env, a, b));
}

}  // namespace hexlane::jinja
