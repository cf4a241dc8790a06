#include "runtime/jinja/sorting.h"

#include <algorithm>
#include <numeric>

#include "runtime/jinja/builtins.h"
#include "runtime/jinja/operators.h"
#include "runtime/jinja/text.h"

namespace hexlane::jinja {
namespace {

Result<Value> FoldCase(Env& env, Value value, bool case_sensitive) {
  if (case_sensitive || !value.IsText()) return value;
  return env.MakeText(Lower(value.text()));
}

}  // namespace

Result<Value> SortKey::Of(Env& env, const Value& item) const {
  TRY(env.Step());
  if (!attribute.IsText() || attribute.text().find(',') == std::string::npos) {
    Value value = TRY(AttributePath(env, item, attribute, fallback));
    return FoldCase(env, std::move(value), case_sensitive);
  }
  std::vector<Value> parts;
  std::string_view rest = attribute.text();
  while (true) {
    const size_t comma = rest.find(',');
    const Value path{std::string(rest.substr(0, comma))};
    Value value = TRY(AttributePath(env, item, path, fallback));
    parts.push_back(TRY(FoldCase(env, std::move(value), case_sensitive)));
    if (comma == std::string_view::npos) return env.MakeList(std::move(parts));
    rest.remove_prefix(comma + 1);
  }
}

// Merge sort by std::merge, which stays in bounds even where the values have no consistent order
// (NaN).
Result<std::vector<size_t>> OrderOf(Env& env, const std::vector<Value>& keys, bool reverse) {
  const size_t count = keys.size();
  TRY(env.Allocate(2 * count * sizeof(size_t)));
  std::vector<size_t> order(count), merged(count);
  std::iota(order.begin(), order.end(), size_t{0});
  Result<void> status;
  const auto before = [&](size_t a, size_t b) {
    if (!status) return false;
    const Result<bool> less = reverse ? Less(env, keys[b], keys[a]) : Less(env, keys[a], keys[b]);
    if (!less) status = tl::unexpected(less.error());
    return less && *less;
  };
  for (size_t width = 1; width < count && status; width *= 2) {
    for (size_t begin = 0; begin < count; begin += 2 * width) {
      const auto first = order.begin() + static_cast<ptrdiff_t>(begin);
      const auto middle = order.begin() + static_cast<ptrdiff_t>(std::min(begin + width, count));
      const auto last = order.begin() + static_cast<ptrdiff_t>(std::min(begin + 2 * width, count));
      std::merge(first, middle, middle, last, merged.begin() + static_cast<ptrdiff_t>(begin),
                 before);
    }
    order.swap(merged);
  }
  TRY(std::move(status));
  return order;
}

Result<std::vector<Value>> SortBy(Env& env, const std::vector<Value>& items, const SortKey& key,
                                  bool reverse) {
  TRY(env.Allocate(items.size() * sizeof(Value)));
  std::vector<Value> keys;
  keys.reserve(items.size());
  for (const Value& item : items) keys.push_back(TRY(key.Of(env, item)));
  std::vector<Value> sorted;
  sorted.reserve(items.size());
  for (const size_t i : TRY(OrderOf(env, keys, reverse))) sorted.push_back(items[i]);
  return sorted;
}

}  // namespace hexlane::jinja
