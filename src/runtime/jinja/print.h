// Values as text: str(), repr(), json.dumps, and Python's two ways of formatting.
#ifndef HEXLANE_RUNTIME_JINJA_PRINT_H_
#define HEXLANE_RUNTIME_JINJA_PRINT_H_

#include "runtime/jinja/env.h"
#include "runtime/jinja/value.h"

namespace hexlane::jinja {

std::string FloatRepr(double value);
Result<std::string> Str(Env& env, const Value& value);  // "" for undefined
Result<std::string> Repr(Env& env, const Value& value);

struct JsonStyle {
  bool ensure_ascii = false;
  bool sort_keys = false;
  std::optional<std::string> indent;  // one level of it
  std::string item_separator = ", ";
  std::string key_separator = ": ";
};
Result<std::string> ToJson(Env& env, const Value& value, const JsonStyle& style);

// format % args: args is a tuple, a dict for %(name)s, or the only argument.
Result<Value> PercentFormat(Env& env, std::string_view format, const Value& args);
// format.format(…)
Result<Value> BraceFormat(Env& env, std::string_view format, const Args& args);

}  // namespace hexlane::jinja

#endif  // HEXLANE_RUNTIME_JINJA_PRINT_H_
