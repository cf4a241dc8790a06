#include "runtime/jinja/loop.h"

#include <deque>

#include "runtime/jinja/objects.h"

namespace hexlane::jinja {
namespace {

// The `loop` variable, which also steps through the items. As in Jinja the condition of the loop is
// asked as late as possible: the body may change what it depends on.
class LoopState : public Object {
 public:
  LoopState(const For& loop, std::shared_ptr<Scope> scope, SequenceRef items, int recursion)
      : Object(items->depth + 1),
        loop_(loop),
        scope_(std::move(scope)),
        items_(std::move(items)),
        recursion_(recursion) {}

  std::string TypeName() const override { return "LoopContext"; }
  bool Callable() const override { return loop_.recursive; }
  Result<std::optional<Value>> Attribute(Env& env, std::string_view name) override;

  // loop(items) of a recursive loop.
  Result<Value> Call(Env& env, Args args) override {
    if (!loop_.recursive || args.positional.size() != 1)
      return InvalidInput("only a recursive loop can be called, with one argument");
    std::string out;
    Frame frame{env, scope_, &out};
    TRY(RunLoop(loop_, frame, TRY(Iterate(env, args[0])), recursion_ + 1));
    return env.MakeText(std::move(out));
  }

  Result<bool> Advance(Env& env) {
    if (!TRY(Fetch(env, 1))) return false;
    if (index_ >= 0) previous_ = current_;
    current_ = std::move(ahead_.front());
    ahead_.pop_front();
    ++index_;
    return true;
  }

  const Value& current() const { return current_; }

  Value Cycle(const Args& args) const {
    return args.positional[1 + static_cast<size_t>(index_) % (args.positional.size() - 1)];
  }

  Result<bool> Changed(Env& env, std::vector<Value> values) {
    const Value now = TRY(env.MakeTuple(std::move(values)));
    if (last_checked_.absent())  // the values may hold this loop
      env.AtEnd([self = shared_from_this(), this] { last_checked_ = Value(); });
    if (!last_checked_.absent() && TRY(Equal(env, now, last_checked_))) return false;
    last_checked_ = now;
    return true;
  }

 private:
  // Whether at least `count` more items pass; they are then in ahead_.
  Result<bool> Fetch(Env& env, size_t count) {
    while (ahead_.size() < count && next_ < items_->items.size()) {
      const Value& item = items_->items[next_++];
      TRY(env.Step());
      if (loop_.condition == nullptr || TRY(Passes(env, item))) ahead_.push_back(item);
    }
    return ahead_.size() >= count;
  }

  Result<bool> Passes(Env& env, const Value& item) {
    Frame frame{env, scope_, nullptr};
    InnerScope inner(frame);
    TRY(Assign(loop_.target, item, frame));
    return TRY(Evaluate(*loop_.condition, frame)).Truth();
  }

  Result<Int> Left(Env& env) {  // items after the current one
    TRY(Fetch(env, items_->items.size() + 1));
    return static_cast<Int>(ahead_.size());
  }

  Result<Value> Neighbour(Env& env, bool is_next) {
    if (is_next)
      return TRY(Fetch(env, 1)) ? ahead_.front() : Value::MakeUndefined("there is no next item");
    return index_ > 0 ? previous_ : Value::MakeUndefined("there is no previous item");
  }

  const For& loop_;
  const std::shared_ptr<Scope> scope_;  // around the loop; null when neither filtered nor recursive
  const SequenceRef items_;
  const int recursion_;
  size_t next_ = 0;  // of items_: the first that is neither ahead_ nor done
  std::deque<Value> ahead_;
  Value previous_, current_, last_checked_;
  Int index_ = -1;
};

Result<Value> CycleMethod(Env&, const Args& args) {
  if (args.positional.size() < 2) return InvalidInput("no items for cycling given");
  return args[0].As<LoopState>()->Cycle(args);
}

Result<Value> ChangedMethod(Env& env, const Args& args) {
  std::vector<Value> values(args.positional.begin() + 1, args.positional.end());
  return Value(TRY(args[0].As<LoopState>()->Changed(env, std::move(values))));
}

constexpr Builtin kCycle = {"cycle", "*", 1, CycleMethod};
constexpr Builtin kChanged = {"changed", "*", 1, ChangedMethod};

Result<std::optional<Value>> LoopState::Attribute(Env& env, std::string_view name) {
  if (name == "index") return Value(index_ + 1);
  if (name == "index0") return Value(index_);
  if (name == "first") return Value(index_ == 0);
  if (name == "last") return Value(!TRY(Fetch(env, 1)));
  if (name == "length") return Value(index_ + 1 + TRY(Left(env)));
  if (name == "revindex") return Value(TRY(Left(env)) + 1);
  if (name == "revindex0") return Value(TRY(Left(env)));
  if (name == "depth") return Value(Int{recursion_ + 1});
  if (name == "depth0") return Value(Int{recursion_});
  if (name == "nextitem") return TRY(Neighbour(env, true));
  if (name == "previtem") return TRY(Neighbour(env, false));
  if (name != "cycle" && name != "changed") return std::nullopt;
  const Builtin& method = name == "cycle" ? kCycle : kChanged;
  return TRY(env.MakeObject(std::make_shared<BoundBuiltin>(method, Value(shared_from_this()))));
}

Result<Flow> RunElse(const For& loop, Frame& frame) {
  InnerScope scope(frame);
  return Execute(loop.otherwise, frame);
}

}  // namespace

Result<Flow> RunLoop(const For& loop, Frame& frame, SequenceRef items, int depth) {
  std::shared_ptr<Scope> scope_of_condition;
  if (loop.condition != nullptr || loop.recursive) {
    scope_of_condition = frame.scope;
    frame.env.AtEnd([scope = frame.scope] { scope->variables.clear(); });
  }
  const auto state = std::make_shared<LoopState>(loop, scope_of_condition, std::move(items), depth);
  const Value loop_value = TRY(frame.env.MakeObject(state));
  bool any = false;
  while (TRY(state->Advance(frame.env))) {
    any = true;
    TRY(frame.env.Step());
    InnerScope scope(frame);
    frame.scope->Set("loop", loop_value);
    TRY(Assign(loop.target, state->current(), frame));
    if (TRY(Execute(loop.body, frame)) == Flow::kBreak) break;
  }
  return any ? Flow::kNext : RunElse(loop, frame);
}

}  // namespace hexlane::jinja
