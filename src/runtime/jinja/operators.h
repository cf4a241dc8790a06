// Python's operators on values: comparison, membership, arithmetic, subscripts, iteration,
// attributes.
#ifndef HEXLANE_RUNTIME_JINJA_OPERATORS_H_
#define HEXLANE_RUNTIME_JINJA_OPERATORS_H_

#include "runtime/jinja/env.h"
#include "runtime/jinja/value.h"

namespace hexlane::jinja {

enum class Op {
  kAdd,
  kSub,
  kMul,
  kDiv,
  kFloorDiv,
  kMod,
  kPow,
  kEq,
  kNe,
  kLt,
  kLe,
  kGt,
  kGe,
  kIn,
  kNotIn
};

// == of values that contain no others; containers are equal only when the same.
bool EqualScalars(const Value& a, const Value& b);
Result<bool> Equal(Env& env, const Value& a, const Value& b);
Result<bool> Less(Env& env, const Value& a, const Value& b);  // an error for types without order
Result<bool> Contains(Env& env, const Value& container, const Value& item);
Result<bool> Compare(Env& env, Op op, const Value& a, const Value& b);

Result<Value> Arithmetic(Env& env, Op op, const Value& a, const Value& b);
Result<Value> Negate(const Value& value);
Result<Value> Power(Env& env, const Value& base, const Value& exponent);

Result<size_t> Length(const Value& value);
// The items that a for loop visits: of a list, the keys of a dict, the characters of a string, …
Result<SequenceRef> Iterate(Env& env, const Value& value);

// object.name: a Python attribute or method first, then the key. Undefined when there is neither.
Result<Value> GetAttribute(Env& env, const Value& object, std::string_view name);
// object[key]: the item first, then the attribute.
Result<Value> GetItem(Env& env, const Value& object, const Value& key);
// object[start:stop:step], each an int, None or absent.
Result<Value> Slice(Env& env, const Value& object, const Value& start, const Value& stop,
                    const Value& step);

// Calls a function, macro or bound method.
Result<Value> CallValue(Env& env, const Value& callee, Args args);

// The error of using a value that is undefined in a way that Jinja does not allow.
Failure UndefinedFailure(const Value& undefined);

}  // namespace hexlane::jinja

#endif  // HEXLANE_RUNTIME_JINJA_OPERATORS_H_
