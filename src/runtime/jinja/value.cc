#include "runtime/jinja/value.h"

#include <algorithm>

#include "runtime/jinja/operators.h"

namespace hexlane::jinja {

const Value* Dict::Find(std::string_view key) const {
  for (const auto& [name, value] : entries)
    if (name.IsText() && name.text() == key) return &value;
  return nullptr;
}

const Value* Dict::Find(const Value& key) const {
  if (key.IsText()) return Find(std::string_view(key.text()));
  for (const auto& [name, value] : entries)
    if (EqualScalars(name, key)) return &value;
  return nullptr;
}

Value Value::MakeUndefined(std::string reason) {
  return Value(Undefined{std::make_shared<const std::string>(std::move(reason))});
}

bool Value::absent() const { return IsUndefined() && std::get<Undefined>(data_).reason == nullptr; }

const SequenceRef& Value::sequence() const {
  if (Is(Kind::kList)) return std::get<List>(data_).ref;
  return std::get<Tuple>(data_).ref;
}

bool Value::Truth() const {
  switch (kind()) {
    case Kind::kUndefined:
    case Kind::kNone: return false;
    case Kind::kBool: return boolean();
    case Kind::kInt: return integer() != 0;
    case Kind::kFloat: return real() != 0;
    case Kind::kText: return !text().empty();
    case Kind::kList:
    case Kind::kTuple: return !sequence()->items.empty();
    case Kind::kDict: return !dict().entries.empty();
    case Kind::kObject: return object().Truth();
  }
  return false;
}

int Value::Depth() const {
  switch (kind()) {
    case Kind::kList:
    case Kind::kTuple: return sequence()->depth;
    case Kind::kDict: return dict().depth;
    case Kind::kObject: return object().depth();
    default: return 0;
  }
}

std::string Value::TypeName() const {
  switch (kind()) {
    case Kind::kUndefined: return "Undefined";
    case Kind::kNone: return "NoneType";
    case Kind::kBool: return "bool";
    case Kind::kInt: return "int";
    case Kind::kFloat: return "float";
    case Kind::kText: return IsMarkup() ? "Markup" : "str";
    case Kind::kList: return "list";
    case Kind::kTuple: return "tuple";
    case Kind::kDict: return "dict";
    case Kind::kObject: return object().TypeName();
  }
  return "object";
}

bool Value::SameAs(const Value& other) const {
  if (kind() != other.kind()) return false;
  switch (kind()) {
    case Kind::kList:
    case Kind::kTuple: return sequence() == other.sequence();
    case Kind::kDict: return &dict() == &other.dict();
    case Kind::kObject: return &object() == &other.object();
    default: return EqualScalars(*this, other);
  }
}

const Value* Args::Named(std::string_view name) const {
  const auto it = std::find_if(named.begin(), named.end(),
                               [&](const auto& entry) { return entry.first == name; });
  return it == named.end() ? nullptr : &it->second;
}

Result<Value> Object::Call(Env&, Args) {
  return InvalidInput("'{}' object is not callable", TypeName());
}
Result<std::optional<Value>> Object::Attribute(Env&, std::string_view) { return std::nullopt; }
Result<SequenceRef> Object::Items(Env&) {
  return InvalidInput("'{}' object is not iterable", TypeName());
}

}  // namespace hexlane::jinja
