// Attributes, subscripts, slices, iteration, calls.
#include "runtime/jinja/objects.h"
#include "runtime/jinja/operators.h"
#include "runtime/jinja/print.h"
#include "runtime/jinja/text.h"

namespace hexlane::jinja {
namespace {

using Kind = Value::Kind;

bool IsSequence(const Value& value) { return value.Is(Kind::kList) || value.Is(Kind::kTuple); }

std::string DescribeType(const Value& value) {
  if (value.IsNone()) return "None";
  return value.TypeName() + " object";
}

Result<Value> Missing(Env& env, const Value& object, const Value& key) {
  if (key.IsText())
    return Value::MakeUndefined(
        fmt::format("'{}' has no attribute '{}'", DescribeType(object), key.text().substr(0, 100)));
  return Value::MakeUndefined(
      fmt::format("{} has no element {}", DescribeType(object), TRY(Repr(env, key))));
}

// A method or built-in attribute, or nothing.
Result<std::optional<Value>> PythonAttribute(Env& env, const Value& object, std::string_view name) {
  if (object.Is(Kind::kObject)) return object.object().Attribute(env, name);
  if (SandboxRefuses(object, name))
    return Value::MakeUndefined(
        fmt::format("access to attribute '{}' of '{}' object is unsafe", name, object.TypeName()));
  const Builtin* method = FindMethod(object, name);
  if (method == nullptr) return std::nullopt;
  return TRY(env.MakeObject(std::make_shared<BoundBuiltin>(*method, object)));
}

// An index counted from the end when negative; nothing when out of range.
std::optional<size_t> ResolveIndex(Int index, size_t size) {
  if (index < 0) index += static_cast<Int>(size);
  if (index < 0 || index >= static_cast<Int>(size)) return std::nullopt;
  return static_cast<size_t>(index);
}

Result<std::optional<Value>> TextItem(Env& env, const Value& text, Int index) {
  TRY(env.Scan(text));
  const std::optional<size_t> at = ResolveIndex(index, CharCount(text.text()));
  if (!at) return std::nullopt;
  const size_t begin = ByteOffset(text.text(), *at);
  const size_t size = CharAt(text.text(), begin).size;
  return TRY(env.MakeText(text.text().substr(begin, size), text.IsMarkup()));
}

Result<std::optional<Value>> Item(Env& env, const Value& object, const Value& key) {
  if (object.Is(Kind::kDict)) {
    TRY(env.Scan(object));
    const Value* value = object.dict().Find(key);
    return value == nullptr ? std::nullopt : std::optional<Value>(*value);
  }
  if (!key.IsInteger()) return std::nullopt;
  if (object.IsText()) return TextItem(env, object, key.integer());
  const bool is_range = object.As<Range>() != nullptr;
  if (!IsSequence(object) && !is_range) return std::nullopt;
  const SequenceRef items = TRY(Iterate(env, object));
  const std::optional<size_t> index = ResolveIndex(key.integer(), items->items.size());
  return index ? std::optional<Value>(items->items[*index]) : std::nullopt;
}

struct SliceRange {
  Int start = 0;
  Int stop = 0;
  Int step = 1;
};

// slice.indices(size)
Result<SliceRange> ResolveSlice(const Value& start, const Value& stop, const Value& step,
                                size_t size) {
  for (const Value* part : {&start, &stop, &step})
    if (!part->IsNone() && !part->IsInteger())
      return InvalidInput("slice indices must be integers or None, not {}", part->TypeName());
  SliceRange range;
  if (!step.IsNone()) range.step = step.integer();
  if (range.step == 0) return InvalidInput("slice step cannot be zero");
  const Int length = static_cast<Int>(size);
  const Int low = range.step < 0 ? -1 : 0;
  const Int high = range.step < 0 ? length - 1 : length;
  const auto clamp = [&](Int index) {
    return std::clamp(index < 0 ? index + length : index, low, high);
  };
  range.start = start.IsNone() ? (range.step < 0 ? high : low) : clamp(start.integer());
  range.stop = stop.IsNone() ? (range.step < 0 ? low : high) : clamp(stop.integer());
  return range;
}

template <typename T>
std::vector<T> Pick(const std::vector<T>& items, const SliceRange& range) {
  std::vector<T> picked;
  const Int size = static_cast<Int>(items.size());
  const Int step = std::clamp<Int>(range.step, -size - 1, size + 1);  // no overflow below
  for (Int i = range.start; step > 0 ? i < range.stop : i > range.stop; i += step)
    picked.push_back(items[static_cast<size_t>(i)]);
  return picked;
}

Result<Value> SliceText(Env& env, const Value& object, const Value& start, const Value& stop,
                        const Value& step) {
  TRY(env.Scan(object));
  TRY(env.Allocate(object.text().size() * sizeof(std::string_view)));
  const std::vector<std::string_view> chars = Chars(object.text());
  const SliceRange range = TRY(ResolveSlice(start, stop, step, chars.size()));
  std::string out;
  for (const std::string_view c : Pick(chars, range)) out += c;
  return env.MakeText(std::move(out), object.IsMarkup());
}

Result<SequenceRef> CharSequence(Env& env, const Value& text) {
  TRY(env.Step(text.text().size() / 8));
  TRY(env.Allocate(text.text().size() * sizeof(Value)));
  std::vector<Value> chars;
  for (const std::string_view c : Chars(text.text()))
    chars.push_back(TRY(env.MakeText(std::string(c), text.IsMarkup())));
  return env.MakeSequence(std::move(chars));
}

}  // namespace

Result<size_t> Length(const Value& value) {
  switch (value.kind()) {
    case Kind::kUndefined: return size_t{0};
    case Kind::kText: return CharCount(value.text());
    case Kind::kList:
    case Kind::kTuple: return value.sequence()->items.size();
    case Kind::kDict: return value.dict().entries.size();
    default: break;
  }
  const std::optional<size_t> length =
      value.Is(Kind::kObject) ? value.object().Length() : std::nullopt;
  if (!length) return InvalidInput("object of type '{}' has no len()", value.TypeName());
  return *length;
}

Result<SequenceRef> Iterate(Env& env, const Value& value) {
  switch (value.kind()) {
    case Kind::kUndefined: return env.MakeSequence({});
    case Kind::kText: return CharSequence(env, value);
    case Kind::kList:
    case Kind::kTuple: return value.sequence();
    case Kind::kObject: return value.object().Items(env);
    case Kind::kDict: {
      std::vector<Value> keys;
      for (const auto& entry : value.dict().entries) keys.push_back(entry.first);
      return env.MakeSequence(std::move(keys));
    }
    default: return InvalidInput("'{}' object is not iterable", value.TypeName());
  }
}

Result<Value> GetAttribute(Env& env, const Value& object, std::string_view name) {
  if (object.IsUndefined()) return UndefinedFailure(object);
  if (std::optional<Value> value = TRY(PythonAttribute(env, object, name))) return *value;
  const Value key{std::string(name)};
  if (std::optional<Value> value = TRY(Item(env, object, key))) return *value;
  return Missing(env, object, key);
}

Result<Value> GetItem(Env& env, const Value& object, const Value& key) {
  if (object.IsUndefined()) return UndefinedFailure(object);
  if (std::optional<Value> value = TRY(Item(env, object, key))) return *value;
  if (key.IsText())
    if (std::optional<Value> value = TRY(PythonAttribute(env, object, key.text()))) return *value;
  return Missing(env, object, key);
}

Result<Value> Slice(Env& env, const Value& object, const Value& start, const Value& stop,
                    const Value& step) {
  if (object.IsUndefined()) return UndefinedFailure(object);
  if (object.IsText()) return SliceText(env, object, start, stop, step);
  if (!IsSequence(object) && object.As<Range>() == nullptr)
    return Value::MakeUndefined(fmt::format("{} has no slice", DescribeType(object)));
  TRY(env.Scan(object));
  const SequenceRef items = TRY(Iterate(env, object));
  const SliceRange range = TRY(ResolveSlice(start, stop, step, items->items.size()));
  std::vector<Value> picked = Pick(items->items, range);
  return object.Is(Kind::kTuple) ? env.MakeTuple(std::move(picked))
                                 : env.MakeList(std::move(picked));
}

Result<Value> CallValue(Env& env, const Value& callee, Args args) {
  if (callee.IsUndefined()) return UndefinedFailure(callee);
  if (!callee.Is(Kind::kObject))
    return InvalidInput("'{}' object is not callable", callee.TypeName());
  return callee.object().Call(env, std::move(args));
}

}  // namespace hexlane::jinja
