// The values that are neither data nor functions of the template: ranges, generators, dict views,
// namespaces, bound methods, joiner, cycler.
#ifndef HEXLANE_RUNTIME_JINJA_OBJECTS_H_
#define HEXLANE_RUNTIME_JINJA_OBJECTS_H_

#include "runtime/jinja/builtins.h"
#include "runtime/jinja/value.h"

namespace hexlane::jinja {

class Range : public Object {
 public:
  Range(Int start, Int stop, Int step, size_t length)
      : start_(start), stop_(stop), step_(step), length_(length) {}

  std::string TypeName() const override { return "range"; }
  bool Truth() const override { return length_ > 0; }
  bool Iterable() const override { return true; }
  std::optional<size_t> Length() const override { return length_; }
  std::string Repr() const override;
  Result<SequenceRef> Items(Env& env) override;

 private:
  Int start_, stop_, step_;
  size_t length_;
};

// What map, select, … give: may be visited once.
class Generator : public Object {
 public:
  explicit Generator(SequenceRef items) : Object(items->depth), items_(std::move(items)) {}

  std::string TypeName() const override { return "generator"; }
  bool Iterable() const override { return true; }
  Result<SequenceRef> Items(Env& env) override;
  std::optional<Value> Next();

 private:
  SequenceRef items_;
  size_t next_ = 0;
};

// dict.keys(), .values(), .items(): a list without subscripts.
class DictView : public Object {
 public:
  DictView(std::string name, SequenceRef items)
      : Object(items->depth), name_(std::move(name)), items_(std::move(items)) {}

  std::string TypeName() const override { return name_; }
  bool Truth() const override { return !items_->items.empty(); }
  bool Iterable() const override { return true; }
  std::optional<size_t> Length() const override { return items_->items.size(); }
  Result<SequenceRef> Items(Env&) override { return items_; }
  const Sequence& sequence() const { return *items_; }

 private:
  std::string name_;
  SequenceRef items_;
};

class Namespace : public Object {
 public:
  std::string TypeName() const override { return "Namespace"; }
  Result<std::optional<Value>> Attribute(Env& env, std::string_view name) override;
  Result<void> Set(Env& env, std::string_view name, Value value);
  void Clear() { entries_.clear(); }

 private:
  std::vector<std::pair<std::string, Value>> entries_;
};

class BoundBuiltin : public Object {  // a method with its object, or a global function
 public:
  BoundBuiltin(const Builtin& builtin, std::optional<Value> self)
      : Object(self ? self->Depth() + 1 : 1), builtin_(builtin), self_(std::move(self)) {}

  std::string TypeName() const override {
    return self_ ? "builtin_function_or_method" : "function";
  }
  bool Callable() const override { return true; }
  Result<Value> Call(Env& env, Args args) override;

 private:
  const Builtin& builtin_;
  std::optional<Value> self_;
};

class Joiner : public Object {  // "" the first time, then the separator
 public:
  explicit Joiner(Value separator)
      : Object(separator.Depth() + 1), separator_(std::move(separator)) {}

  std::string TypeName() const override { return "Joiner"; }
  bool Callable() const override { return true; }
  Result<Value> Call(Env& env, Args args) override;

 private:
  Value separator_;
  bool used_ = false;
};

class Cycler : public Object {
 public:
  explicit Cycler(SequenceRef items) : Object(items->depth), items_(std::move(items)) {}

  std::string TypeName() const override { return "Cycler"; }
  Result<std::optional<Value>> Attribute(Env& env, std::string_view name) override;

  Value current() const { return items_->items[next_]; }
  Value Next();
  void Reset() { next_ = 0; }

 private:
  SequenceRef items_;
  size_t next_ = 0;
};

}  // namespace hexlane::jinja

#endif  // HEXLANE_RUNTIME_JINJA_OBJECTS_H_
