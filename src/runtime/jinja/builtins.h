// The tables of filters, tests, global functions and methods, and how one of their rows is called.
#ifndef HEXLANE_RUNTIME_JINJA_BUILTINS_H_
#define HEXLANE_RUNTIME_JINJA_BUILTINS_H_

#include <span>

#include "runtime/jinja/env.h"
#include "runtime/jinja/value.h"

namespace hexlane::jinja {

struct Builtin {
  std::string_view name;
  // Parameter names in order, one blank between; the value that is filtered, tested or bound comes
  // first. `run` gets exactly these, absent() where not passed. "*": `run` gets the arguments as
  // they came.
  std::string_view params;
  size_t required;  // how many must be passed; with "*", how many positional
  Result<Value> (*run)(Env& env, const Args& args);
};

Result<Value> CallBuiltin(Env& env, const Builtin& builtin, Args args);

const Builtin* FindFilter(std::string_view name);
const Builtin* FindTest(std::string_view name);
std::span<const Builtin> Globals();
// Methods of str, list, tuple, dict. `SandboxRefuses`: a method that would change the object.
const Builtin* FindMethod(const Value& object, std::string_view name);
bool SandboxRefuses(const Value& object, std::string_view name);

// Rows by file; FindFilter and FindMethod search them.
std::span<const Builtin> TextFilters();
std::span<const Builtin> ListFilters();
std::span<const Builtin> SelectFilters();
std::span<const Builtin> ValueFilters();
std::span<const Builtin> TextMethods();
std::span<const Builtin> FindingMethods();

// Shared by several of them.
Result<std::string> TextArg(Env& env, const Value& value);  // str(value)
Result<Int> IntArg(const Value& value,
                   Int fallback);  // an error when not an int; fallback when absent
bool BoolArg(const Value& value, bool fallback);
Result<Value> MakeGenerator(Env& env, std::vector<Value> items);

// "a.b.0" as map(attribute=…) and its like read it: getitem step by step, `fallback` where
// undefined.
Result<Value> AttributePath(Env& env, const Value& object, const Value& path,
                            const Value& fallback = Value());

}  // namespace hexlane::jinja

#endif  // HEXLANE_RUNTIME_JINJA_BUILTINS_H_
