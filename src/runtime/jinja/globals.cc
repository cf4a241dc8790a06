// The functions every template can call.
#include <ctime>

#include "runtime/jinja/builtins.h"
#include "runtime/jinja/objects.h"
#include "runtime/jinja/operators.h"
#include "runtime/jinja/print.h"

namespace hexlane::jinja {
namespace {

constexpr Int kMaxRange = 100'000;  // the sandbox of Jinja allows as much
constexpr size_t kMaxDateFormat = 1000;
constexpr size_t kMaxDate = 4096;

Result<Value> RangeFunction(Env& env, const Args& args) {
  const size_t count = args.positional.size();
  if (count > 3 || !args.named.empty()) return InvalidInput("range expected 1 to 3 arguments");
  for (const Value& value : args.positional)
    if (!value.IsInteger())
      return InvalidInput("'{}' object cannot be interpreted as an integer", value.TypeName());
  const Int start = count == 1 ? 0 : args[0].integer();
  const Int stop = count == 1 ? args[0].integer() : args[1].integer();
  const Int step = count == 3 ? args[2].integer() : 1;
  if (step == 0) return InvalidInput("range() arg 3 must not be zero");
  const Int limit = Int{1} << 62;
  for (const Int part : {start, stop, step})
    if (part > limit || part < -limit) return InvalidInput("range too big");
  const Int span = step > 0 ? stop - start : start - stop;
  const Int stride = step > 0 ? step : -step;
  const Int length = span <= 0 ? 0 : (span + stride - 1) / stride;
  if (length > kMaxRange)
    return InvalidInput("range too big").Want("at most {} items", int64_t{kMaxRange});
  return env.MakeObject(std::make_shared<Range>(start, stop, step, static_cast<size_t>(length)));
}

// The pairs of dict(mapping or pairs, name=value, …).
Result<std::vector<std::pair<Value, Value>>> DictEntries(Env& env, const Args& args) {
  std::vector<std::pair<Value, Value>> entries;
  const auto set = [&](const Value& key, const Value& value) -> Result<void> {
    TRY(env.Step(1 + entries.size() / 8));
    for (auto& entry : entries)
      if (EqualScalars(entry.first, key)) return entry.second = value, Result<void>();
    entries.emplace_back(key, value);
    return {};
  };
  if (args.positional.size() > 1) return InvalidInput("dict expected at most 1 argument");
  if (args.positional.size() == 1 && args[0].Is(Value::Kind::kDict)) {
    entries = args[0].dict().entries;
  } else if (args.positional.size() == 1) {
    const SequenceRef pairs = TRY(Iterate(env, args[0]));
    for (const Value& pair : pairs->items) {
      const SequenceRef parts = TRY(Iterate(env, pair));
      if (parts->items.size() != 2)
        return InvalidInput("a dict is made of pairs").Got("{} values", parts->items.size());
      if (parts->items[0].Depth() > 0 && !parts->items[0].Is(Value::Kind::kTuple))
        return InvalidInput("unhashable type: '{}'", parts->items[0].TypeName());
      TRY(set(parts->items[0], parts->items[1]));
    }
  }
  for (const auto& [name, value] : args.named) TRY(set(TRY(env.MakeText(name)), value));
  return entries;
}

Result<Value> DictFunction(Env& env, const Args& args) {
  return env.MakeDict(TRY(DictEntries(env, args)));
}

Result<Value> NamespaceFunction(Env& env, const Args& args) {
  auto space = std::make_shared<Namespace>();
  for (const auto& [key, value] : TRY(DictEntries(env, args))) {
    if (!key.IsText()) return InvalidInput("a namespace has strings as names");
    TRY(space->Set(env, key.text(), value));
  }
  TRY(env.Allocate(sizeof(Namespace)));
  env.AtEnd([space] { space->Clear(); });  // it may hold itself
  return env.MakeObject(space);
}

Result<Value> CyclerFunction(Env& env, const Args& args) {
  if (args.positional.empty()) return InvalidInput("at least one item has to be provided");
  return env.MakeObject(std::make_shared<Cycler>(TRY(env.MakeSequence(args.positional))));
}

Result<Value> JoinerFunction(Env& env, const Args& args) {
  Value separator = args[0].absent() ? TRY(env.MakeText(", ")) : args[0];
  return env.MakeObject(std::make_shared<Joiner>(std::move(separator)));
}

Result<Value> RaiseException(Env& env, const Args& args) {
  return InvalidInput("{}", TRY(TextArg(env, args[0])));
}

std::tm LocalTime() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  localtime_r(&now, &parts);
  return parts;
}

Result<Value> StrftimeNow(Env& env, const Args& args) {
  const std::string format = TRY(TextArg(env, args[0]));
  if (format.size() > kMaxDateFormat) return InvalidInput("a date format is too long");
  if (format.empty()) return env.MakeText("");
  const std::tm now = env.options().now ? *env.options().now : LocalTime();
  std::string out(kMaxDate, '\0');
  out.resize(std::strftime(out.data(), out.size(), format.c_str(), &now));
  return env.MakeText(std::move(out));
}

constexpr Builtin kGlobals[] = {
    {"range", "*", 1, RangeFunction},           {"dict", "*", 0, DictFunction},
    {"namespace", "*", 0, NamespaceFunction},   {"cycler", "*", 0, CyclerFunction},
    {"joiner", "sep", 0, JoinerFunction},       {"raise_exception", "message", 0, RaiseException},
    {"strftime_now", "format", 0, StrftimeNow},
};

}  // namespace

std::span<const Builtin> Globals() { return kGlobals; }

}  // namespace hexlane::jinja
