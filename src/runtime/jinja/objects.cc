#include "runtime/jinja/objects.h"

#include "runtime/jinja/operators.h"

namespace hexlane::jinja {
namespace {

Result<Value> CyclerNext(Env&, const Args& args) { return args[0].As<Cycler>()->Next(); }
Result<Value> CyclerReset(Env&, const Args& args) {
  args[0].As<Cycler>()->Reset();
  return Value(None{});
}

constexpr Builtin kCyclerNext = {"next", "self", 1, CyclerNext};
constexpr Builtin kCyclerReset = {"reset", "self", 1, CyclerReset};

}  // namespace

std::string Range::Repr() const {
  if (step_ == 1) return fmt::format("range({}, {})", start_, stop_);
  return fmt::format("range({}, {}, {})", start_, stop_, step_);
}

Result<SequenceRef> Range::Items(Env& env) {
  TRY(env.Step(length_ / 8));
  std::vector<Value> items;
  items.reserve(length_);
  for (size_t i = 0; i < length_; ++i) items.emplace_back(start_ + static_cast<Int>(i) * step_);
  return env.MakeSequence(std::move(items));
}

Result<SequenceRef> Generator::Items(Env& env) {
  if (next_ == 0) {
    next_ = items_->items.size();
    return items_;
  }
  std::vector<Value> rest(items_->items.begin() + static_cast<ptrdiff_t>(next_),
                          items_->items.end());
  next_ = items_->items.size();
  return env.MakeSequence(std::move(rest));
}

std::optional<Value> Generator::Next() {
  if (next_ >= items_->items.size()) return std::nullopt;
  return items_->items[next_++];
}

Result<std::optional<Value>> Namespace::Attribute(Env& env, std::string_view name) {
  TRY(env.Step(entries_.size() / 8));
  for (const auto& [key, value] : entries_)
    if (key == name) return value;
  return std::nullopt;
}

Result<void> Namespace::Set(Env& env, std::string_view name, Value value) {
  TRY(env.Step(entries_.size() / 8));
  for (auto& entry : entries_) {
    if (entry.first != name) continue;
    entry.second = std::move(value);
    return {};
  }
  TRY(env.Allocate(sizeof(Value) + name.size()));
  entries_.emplace_back(name, std::move(value));
  return {};
}

Result<Value> BoundBuiltin::Call(Env& env, Args args) {
  if (self_) args.positional.insert(args.positional.begin(), *self_);
  return CallBuiltin(env, builtin_, std::move(args));
}

Result<Value> Joiner::Call(Env& env, Args) {
  if (used_) return separator_;
  used_ = true;
  return env.MakeText("");
}

Value Cycler::Next() {
  Value value = current();
  next_ = (next_ + 1) % items_->items.size();
  return value;
}

Result<std::optional<Value>> Cycler::Attribute(Env& env, std::string_view name) {
  if (name == "current") return current();
  const Builtin* method = name == "next" ? &kCyclerNext : name == "reset" ? &kCyclerReset : nullptr;
  if (method == nullptr) return std::nullopt;
  return TRY(env.MakeObject(std::make_shared<BoundBuiltin>(*method, Value(shared_from_this()))));
}

}  // namespace hexlane::jinja
