// Ordering items by a key, as sort, min, unique, … do.
#ifndef HEXLANE_RUNTIME_JINJA_SORTING_H_
#define HEXLANE_RUNTIME_JINJA_SORTING_H_

#include "runtime/jinja/env.h"
#include "runtime/jinja/value.h"

namespace hexlane::jinja {

struct SortKey {
  Value attribute;              // a path, "a.b,c" for several; absent: the item itself
  bool case_sensitive = false;  // otherwise strings count as lower case
  Value fallback = Value();     // for an attribute that is undefined

  Result<Value> Of(Env& env, const Value& item) const;
};

// The stable order of `keys`, as indices. An error when two cannot be compared.
Result<std::vector<size_t>> OrderOf(Env& env, const std::vector<Value>& keys, bool reverse);

// Stable. An error when two keys cannot be compared.
Result<std::vector<Value>> SortBy(Env& env, const std::vector<Value>& items, const SortKey& key,
                                  bool reverse);

}  // namespace hexlane::jinja

#endif  // HEXLANE_RUNTIME_JINJA_SORTING_H_
