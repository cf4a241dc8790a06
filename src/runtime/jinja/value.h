// The values a template computes with: Python's, as far as templates can see them. Lists, tuples
// and dicts never change after they are made (the sandbox of Hugging Face refuses append, update,
// …), so values share them freely.
#ifndef HEXLANE_RUNTIME_JINJA_VALUE_H_
#define HEXLANE_RUNTIME_JINJA_VALUE_H_

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "hexlane/status.h"

namespace hexlane::jinja {

using Int = __int128;  // Python's int up to 127 bits; arithmetic beyond that is an error

class Env;
class Object;
class Value;
struct Args;

struct Sequence {
  std::vector<Value> items;
  int depth = 1;  // 1 + the deepest item: bounds every recursion over values
};
using SequenceRef = std::shared_ptr<const Sequence>;

// In insertion order. Lookup is linear; who looks up pays steps for it.
struct Dict {
  std::vector<std::pair<Value, Value>> entries;
  int depth = 1;

  const Value* Find(std::string_view key) const;
  const Value* Find(const Value& key) const;
};
using DictRef = std::shared_ptr<const Dict>;
using ObjectRef = std::shared_ptr<Object>;

// `reason` is the message of the error that using the value gives; null: an argument that was not
// passed.
struct Undefined {
  std::shared_ptr<const std::string> reason;
};
struct None {};
struct Text {
  std::shared_ptr<const std::string> text;  // UTF-8, possibly malformed
  bool markup = false;                      // `safe` or escaped: + escapes the other side
};
struct List {
  SequenceRef ref;
};
struct Tuple {
  SequenceRef ref;
};

class Value {
 public:
  enum class Kind { kUndefined, kNone, kBool, kInt, kFloat, kText, kList, kTuple, kDict, kObject };

  Value() = default;  // an argument that was not passed
  Value(None none) : data_(none) {}
  Value(bool value) : data_(value) {}
  Value(Int value) : data_(value) {}
  Value(double value) : data_(value) {}
  Value(Text text) : data_(std::move(text)) {}
  Value(List list) : data_(std::move(list)) {}
  Value(Tuple tuple) : data_(std::move(tuple)) {}
  Value(DictRef dict) : data_(std::move(dict)) {}
  Value(ObjectRef object) : data_(std::move(object)) {}
  explicit Value(std::string text)
      : data_(Text{std::make_shared<const std::string>(std::move(text))}) {}
  template <typename T>
  Value(T*) = delete;  // or a pointer would become a bool

  static Value MakeUndefined(std::string reason);
  static Value Size(size_t size) { return Value(static_cast<Int>(size)); }

  Kind kind() const { return static_cast<Kind>(data_.index()); }
  bool Is(Kind kind) const { return this->kind() == kind; }
  bool absent() const;
  bool IsUndefined() const { return Is(Kind::kUndefined); }
  bool IsNone() const { return Is(Kind::kNone); }
  bool IsText() const { return Is(Kind::kText); }
  bool IsInteger() const { return Is(Kind::kInt) || Is(Kind::kBool); }  // as Python: bool is an int
  bool IsNumber() const { return IsInteger() || Is(Kind::kFloat); }
  bool IsMarkup() const { return IsText() && std::get<Text>(data_).markup; }

  // The caller has looked at the kind.
  bool boolean() const { return std::get<bool>(data_); }
  Int integer() const { return Is(Kind::kBool) ? Int{boolean()} : std::get<Int>(data_); }
  double real() const { return Is(Kind::kFloat) ? std::get<double>(data_) : double(integer()); }
  const std::string& text() const { return *std::get<Text>(data_).text; }
  const SequenceRef& sequence() const;  // of a list or tuple
  const Dict& dict() const { return *std::get<DictRef>(data_); }
  Object& object() const { return *std::get<ObjectRef>(data_); }
  const std::string& reason() const { return *std::get<Undefined>(data_).reason; }

  // The object as a T, or null.
  template <typename T>
  T* As() const {
    const ObjectRef* object = std::get_if<ObjectRef>(&data_);
    return object == nullptr ? nullptr : dynamic_cast<T*>(object->get());
  }

  bool Truth() const;
  int Depth() const;                      // levels of containers, 0 for a scalar
  std::string TypeName() const;           // Python's: "str", "NoneType", …
  bool SameAs(const Value& other) const;  // Python's `is`

 private:
  explicit Value(Undefined undefined) : data_(std::move(undefined)) {}

  std::variant<Undefined, None, bool, Int, double, Text, List, Tuple, DictRef, ObjectRef> data_;
};

struct Args {
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> named;

  const Value& operator[](size_t i) const { return positional[i]; }
  const Value* Named(std::string_view name) const;
};

// Everything else: functions, macros, namespaces, loops, ranges, generators.
class Object : public std::enable_shared_from_this<Object> {
 public:
  explicit Object(int depth = 1) : depth_(depth) {}
  virtual ~Object() = default;

  virtual std::string TypeName() const = 0;
  virtual bool Truth() const { return true; }
  virtual bool Callable() const { return false; }
  virtual bool Iterable() const { return false; }
  virtual std::optional<size_t> Length() const { return std::nullopt; }
  virtual std::string Repr() const { return fmt::format("<{} object>", TypeName()); }
  virtual Result<Value> Call(Env& env, Args args);
  virtual Result<std::optional<Value>> Attribute(Env& env, std::string_view name);
  virtual Result<SequenceRef> Items(Env& env);  // a generator gives its items once
  int depth() const { return depth_; }

 private:
  int depth_;
};

}  // namespace hexlane::jinja

#endif  // HEXLANE_RUNTIME_JINJA_VALUE_H_
