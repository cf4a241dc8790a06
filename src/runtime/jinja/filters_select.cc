// map, select, reject, selectattr, rejectattr.
#include "runtime/jinja/builtins.h"
#include "runtime/jinja/operators.h"

namespace hexlane::jinja {
namespace {

// Filters and tests called by map and select may be these again.
Result<Value> CallNested(Env& env, const Builtin& builtin, Args args) {
  TRY(env.Enter());
  Result<Value> value = CallBuiltin(env, builtin, std::move(args));
  env.Leave();
  return value;
}

// The arguments for one item: it, then those from `first` on.
Args ForItem(const Value& item, const Args& args, size_t first) {
  Args call;
  call.positional.push_back(item);
  for (size_t i = first; i < args.positional.size(); ++i)
    call.positional.push_back(args.positional[i]);
  call.named = args.named;
  return call;
}

Result<Value> MapAttribute(Env& env, const std::vector<Value>& items, const Args& args) {
  const Value* fallback = args.Named("default");
  for (const auto& entry : args.named)
    if (entry.first != "attribute" && entry.first != "default")
      return InvalidInput("Unexpected keyword argument '{}'", entry.first);
  std::vector<Value> out;
  for (const Value& item : items) {
    TRY(env.Step());
    out.push_back(
        TRY(AttributePath(env, item, *args.Named("attribute"),
                          fallback == nullptr || fallback->IsNone() ? Value() : *fallback)));
  }
  return MakeGenerator(env, std::move(out));
}

Result<Value> Map(Env& env, const Args& args) {
  if (!args[0].Truth()) return MakeGenerator(env, {});  // None too
  const SequenceRef items = TRY(Iterate(env, args[0]));
  if (args.positional.size() == 1 && args.Named("attribute") != nullptr)
    return MapAttribute(env, items->items, args);
  if (args.positional.size() == 1 || !args[1].IsText())
    return InvalidInput("map requires a filter argument");
  const Builtin* filter = FindFilter(args[1].text());
  if (filter == nullptr) return InvalidInput("no filter named '{}'", args[1].text());
  std::vector<Value> out;
  for (const Value& item : items->items) {
    TRY(env.Step());
    out.push_back(TRY(CallNested(env, *filter, ForItem(item, args, 2))));
  }
  return MakeGenerator(env, std::move(out));
}

// `attribute`: args[1] names what is tested instead of the item itself.
Result<Value> Select(Env& env, const Args& args, bool attribute, bool keep) {
  if (!args[0].Truth()) return MakeGenerator(env, {});  // None too
  const size_t name_index = attribute ? 2 : 1;
  if (args.positional.size() < name_index)
    return InvalidInput("Missing parameter for attribute name");
  const Builtin* test = nullptr;
  if (args.positional.size() > name_index) {
    const Value& name = args[name_index];
    test = name.IsText() ? FindTest(name.text()) : nullptr;
    if (test == nullptr) return InvalidInput("no test of that name in select or reject");
  }
  std::vector<Value> out;
  const SequenceRef items = TRY(Iterate(env, args[0]));
  for (const Value& item : items->items) {
    TRY(env.Step());
    const Value tested = attribute ? TRY(AttributePath(env, item, args[1])) : item;
    bool verdict = tested.Truth();
    if (test != nullptr)
      verdict = TRY(CallNested(env, *test, ForItem(tested, args, name_index + 1))).Truth();
    if (verdict == keep) out.push_back(item);
  }
  return MakeGenerator(env, std::move(out));
}

Result<Value> SelectFilter(Env& env, const Args& args) { return Select(env, args, false, true); }
Result<Value> RejectFilter(Env& env, const Args& args) { return Select(env, args, false, false); }
Result<Value> SelectAttr(Env& env, const Args& args) { return Select(env, args, true, true); }
Result<Value> RejectAttr(Env& env, const Args& args) { return Select(env, args, true, false); }

constexpr Builtin kFilters[] = {
    {"map", "*", 1, Map},
    {"select", "*", 1, SelectFilter},
    {"reject", "*", 1, RejectFilter},
    {"selectattr", "*", 1, SelectAttr},
    {"rejectattr", "*", 1, RejectAttr},
};

}  // namespace

std::span<const Builtin> SelectFilters() { return kFilters; }

}  // namespace hexlane::jinja
