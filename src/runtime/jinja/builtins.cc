#include "runtime/jinja/builtins.h"

#include <algorithm>

#include "runtime/jinja/literals.h"
#include "runtime/jinja/objects.h"
#include "runtime/jinja/operators.h"
#include "runtime/jinja/print.h"

namespace hexlane::jinja {
namespace {

std::vector<std::string_view> SplitBlanks(std::string_view text) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    words.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

// Named arguments into their positions.
Result<void> Bind(const Builtin& builtin, Args& args) {
  const std::vector<std::string_view> names = SplitBlanks(builtin.params);
  if (args.positional.size() > names.size())
    return InvalidInput("{} takes too many arguments", builtin.name)
        .Want("at most {}", names.size())
        .Got("{}", args.positional.size());
  const size_t given = args.positional.size();
  args.positional.resize(names.size());
  for (auto& [name, value] : args.named) {
    const auto it = std::find(names.begin(), names.end(), name);
    if (it == names.end())
      return InvalidInput("{} got an unexpected keyword argument '{}'", builtin.name, name);
    const size_t index = static_cast<size_t>(it - names.begin());
    if (index < given)
      return InvalidInput("{} got multiple values for argument '{}'", builtin.name, name);
    args.positional[index] = std::move(value);
  }
  args.named.clear();
  for (size_t i = 0; i < builtin.required; ++i)
    if (args.positional[i].absent())
      return InvalidInput("{} misses its argument '{}'", builtin.name, names[i]);
  return {};
}

Result<Value> PathStep(Env& env, const Value& object, std::string_view step) {
  if (const std::optional<Int> index = ParseInt(step)) return GetItem(env, object, Value(*index));
  return GetItem(env, object, Value(std::string(step)));
}

}  // namespace

Result<Value> CallBuiltin(Env& env, const Builtin& builtin, Args args) {
  if (builtin.params != "*") TRY(Bind(builtin, args));
  if (args.positional.size() < builtin.required)
    return InvalidInput("{} misses an argument", builtin.name);
  for (const Value& value : args.positional) TRY(env.Scan(value));
  return builtin.run(env, args);
}

const Builtin* FindFilter(std::string_view name) {
  for (const auto rows : {TextFilters(), ListFilters(), SelectFilters(), ValueFilters()})
    for (const Builtin& row : rows)
      if (row.name == name) return &row;
  return nullptr;
}

Result<std::string> TextArg(Env& env, const Value& value) { return Str(env, value); }

Result<Int> IntArg(const Value& value, Int fallback) {
  if (value.absent() || value.IsNone()) return fallback;
  if (value.IsInteger()) return value.integer();
  return InvalidInput("'{}' object cannot be interpreted as an integer", value.TypeName());
}

bool BoolArg(const Value& value, bool fallback) {
  return value.absent() ? fallback : value.Truth();
}

Result<Value> MakeGenerator(Env& env, std::vector<Value> items) {
  return env.MakeObject(std::make_shared<Generator>(TRY(env.MakeSequence(std::move(items)))));
}

Result<Value> AttributePath(Env& env, const Value& object, const Value& path,
                            const Value& fallback) {
  if (path.absent() || path.IsNone()) return object;
  if (path.IsInteger()) return GetItem(env, object, path);
  if (!path.IsText()) return InvalidInput("an attribute must be a string or an integer");
  Value value = object;
  std::string_view rest = path.text();
  for (bool last = false; !last;) {
    const size_t dot = rest.find('.');
    last = dot == std::string_view::npos;
    value = TRY(PathStep(env, value, rest.substr(0, dot)));
    if (value.IsUndefined() && !fallback.absent()) value = fallback;
    if (!last) rest.remove_prefix(dot + 1);
  }
  return value;
}

}  // namespace hexlane::jinja
