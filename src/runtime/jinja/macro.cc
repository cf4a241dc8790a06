#include "runtime/jinja/macro.h"

namespace hexlane::jinja {
namespace {

class Macro : public Object {
 public:
  Macro(const MacroBody& body, std::shared_ptr<Scope> scope)
      : body_(body), scope_(std::move(scope)) {}

  std::string TypeName() const override { return "Macro"; }
  bool Callable() const override { return true; }

  Result<Value> Call(Env& env, Args args) override {
    TRY(env.Enter());
    Result<Value> result = Run(env, std::move(args));
    env.Leave();
    return result;
  }

  Result<std::optional<Value>> Attribute(Env& env, std::string_view name) override {
    if (name != "name") return std::nullopt;
    return TRY(env.MakeText(body_.name));
  }

 private:
  Result<Value> Run(Env& env, Args args) {
    std::string out;
    Frame frame{env, scope_, &out};
    InnerScope inner(frame);
    TRY(env.Allocate(sizeof(Scope) + body_.parameters.size() * sizeof(Value)));
    TRY(BindParameters(frame, args));
    TRY(BindRest(frame, args));
    TRY(Execute(body_.body, frame));
    return env.MakeText(std::move(out));
  }

  Result<void> BindParameters(Frame& frame, Args& args) {
    for (size_t i = 0; i < body_.parameters.size(); ++i) {
      const auto& [name, fallback] = body_.parameters[i];
      std::optional<Value> value;
      if (i < args.positional.size()) {
        value = args.positional[i];
      } else {
        value = TakeNamed(args, name);
      }
      if (!value && fallback != nullptr) value = TRY(Evaluate(*fallback, frame));
      if (!value)
        value = Value::MakeUndefined(fmt::format("parameter '{}' was not provided", name));
      frame.scope->Set(name, std::move(*value));
    }
    return {};
  }

  // What is left: caller, varargs and kwargs where the body reads them, an error otherwise.
  Result<void> BindRest(Frame& frame, Args& args) {
    if (body_.uses_caller && !HasParameter("caller")) {
      std::optional<Value> caller = TakeNamed(args, "caller");
      frame.scope->Set("caller",
                       caller ? std::move(*caller) : Value::MakeUndefined("No caller defined"));
    }
    const size_t taken = std::min(args.positional.size(), body_.parameters.size());
    args.positional.erase(args.positional.begin(),
                          args.positional.begin() + static_cast<ptrdiff_t>(taken));
    if (!body_.uses_kwargs && !args.named.empty())
      return InvalidInput("macro '{}' takes no keyword argument '{}'", body_.name,
                          args.named[0].first);
    if (!body_.uses_varargs && !args.positional.empty())
      return InvalidInput("macro '{}' takes not more than {} argument(s)", body_.name,
                          body_.parameters.size());
    if (body_.uses_varargs)
      frame.scope->Set("varargs", TRY(frame.env.MakeTuple(std::move(args.positional))));
    if (body_.uses_kwargs) frame.scope->Set("kwargs", TRY(NamedAsDict(frame.env, args)));
    return {};
  }

  bool HasParameter(std::string_view name) const {
    const auto is_name = [&](const auto& parameter) { return parameter.first == name; };
    return std::any_of(body_.parameters.begin(), body_.parameters.end(), is_name);
  }

  static std::optional<Value> TakeNamed(Args& args, std::string_view name) {
    const auto is_name = [&](const auto& entry) { return entry.first == name; };
    const auto it = std::find_if(args.named.begin(), args.named.end(), is_name);
    if (it == args.named.end()) return std::nullopt;
    std::optional<Value> value(std::move(it->second));
    args.named.erase(it);
    return value;
  }

  static Result<Value> NamedAsDict(Env& env, Args& args) {
    std::vector<std::pair<Value, Value>> entries;
    for (auto& [name, value] : args.named) {
      Value key = TRY(env.MakeText(name));
      entries.emplace_back(std::move(key), std::move(value));
    }
    return env.MakeDict(std::move(entries));
  }

  const MacroBody& body_;
  std::shared_ptr<Scope> scope_;
};

}  // namespace

Result<Value> MakeMacro(const MacroBody& body, Frame& frame) {
  TRY(frame.env.Allocate(sizeof(Macro) + sizeof(std::function<void()>)));
  // The scope holds the macro and the macro holds the scope.
  frame.env.AtEnd([scope = frame.scope] { scope->variables.clear(); });
  return frame.env.MakeObject(std::make_shared<Macro>(body, frame.scope));
}

}  // namespace hexlane::jinja
