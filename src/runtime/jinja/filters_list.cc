// Filters on lists, dicts and other things that can be visited.
#include <algorithm>

#include "runtime/jinja/builtins.h"
#include "runtime/jinja/objects.h"
#include "runtime/jinja/operators.h"
#include "runtime/jinja/print.h"
#include "runtime/jinja/sorting.h"
#include "runtime/jinja/text.h"

namespace hexlane::jinja {
namespace {

using Kind = Value::Kind;

Result<Value> First(Env& env, const Args& args) {
  if (Generator* generator = args[0].As<Generator>()) {
    if (std::optional<Value> next = generator->Next()) return *next;
  } else if (const SequenceRef items = TRY(Iterate(env, args[0])); !items->items.empty()) {
    return items->items.front();
  }
  return Value::MakeUndefined("No first item, sequence was empty.");
}

Result<Value> Last(Env& env, const Args& args) {
  if (args[0].As<Generator>() != nullptr)
    return InvalidInput("'generator' object is not reversible");
  const SequenceRef items = TRY(Iterate(env, args[0]));
  if (!items->items.empty()) return items->items.back();
  return Value::MakeUndefined("No last item, sequence was empty.");
}

Result<Value> LengthFilter(Env&, const Args& args) { return Value::Size(TRY(Length(args[0]))); }

Result<Value> ListFilter(Env& env, const Args& args) {
  return Value(List{TRY(Iterate(env, args[0]))});
}

Result<Value> Join(Env& env, const Args& args) {
  const SequenceRef items = TRY(Iterate(env, args[0]));
  const std::string separator = args[1].absent() ? "" : TRY(TextArg(env, args[1]));
  std::string out;
  for (size_t i = 0; i < items->items.size(); ++i) {
    TRY(env.Step());
    if (i > 0) out += separator;
    const Value item = TRY(AttributePath(env, items->items[i], args[2]));
    out += TRY(Str(env, item));
    if (out.size() > env.options().max_output_bytes) break;  // MakeText refuses it
  }
  return env.MakeText(std::move(out));
}

Result<Value> Reverse(Env& env, const Args& args) {
  if (args[0].IsText()) {
    TRY(env.Allocate(args[0].text().size() * sizeof(std::string_view)));
    const std::vector<std::string_view> chars = Chars(args[0].text());
    std::string out;
    for (auto it = chars.rbegin(); it != chars.rend(); ++it) out += *it;
    return env.MakeText(std::move(out));
  }
  const SequenceRef items = TRY(Iterate(env, args[0]));
  return MakeGenerator(env, std::vector<Value>(items->items.rbegin(), items->items.rend()));
}

Result<Value> Sum(Env& env, const Args& args) {
  Value total = args[2].absent() ? Value(Int{0}) : args[2];
  if (total.IsText()) return InvalidInput("sum() can't sum strings");
  const SequenceRef items = TRY(Iterate(env, args[0]));
  for (const Value& item : items->items) {
    TRY(env.Step());
    total = TRY(Arithmetic(env, Op::kAdd, total, TRY(AttributePath(env, item, args[1]))));
  }
  return total;
}

Result<Value> Extreme(Env& env, const Args& args, bool want_max) {
  const SequenceRef items = TRY(Iterate(env, args[0]));
  if (items->items.empty()) return Value::MakeUndefined("No aggregated item, sequence was empty.");
  const SortKey key{args[2], BoolArg(args[1], false)};
  Value best_key;
  const Value* best = nullptr;
  for (const Value& item : items->items) {
    Value item_key = TRY(key.Of(env, item));
    if (best != nullptr &&
        !TRY(want_max ? Less(env, best_key, item_key) : Less(env, item_key, best_key)))
      continue;
    best = &item;
    best_key = std::move(item_key);
  }
  return *best;
}
Result<Value> Max(Env& env, const Args& args) { return Extreme(env, args, true); }
Result<Value> Min(Env& env, const Args& args) { return Extreme(env, args, false); }

Result<Value> Sort(Env& env, const Args& args) {
  const SequenceRef items = TRY(Iterate(env, args[0]));
  const SortKey key{args[3], BoolArg(args[2], false)};
  return env.MakeList(TRY(SortBy(env, items->items, key, BoolArg(args[1], false))));
}

Result<Value> DictSort(Env& env, const Args& args) {
  if (!args[0].Is(Kind::kDict))
    return InvalidInput("dictsort wants a dict").Got("{}", args[0].TypeName());
  const std::string by = args[2].absent() ? "key" : TRY(TextArg(env, args[2]));
  if (by != "key" && by != "value")
    return InvalidInput("You can only sort by either \"key\" or \"value\"");
  std::vector<Value> pairs;
  for (const auto& [key, value] : args[0].dict().entries)
    pairs.push_back(TRY(env.MakeTuple({key, value})));
  const SortKey key{Value(Int{by == "key" ? 0 : 1}), BoolArg(args[1], false)};
  return env.MakeList(TRY(SortBy(env, pairs, key, BoolArg(args[3], false))));
}

Result<Value> Unique(Env& env, const Args& args) {
  const SequenceRef items = TRY(Iterate(env, args[0]));
  const SortKey key{args[2], BoolArg(args[1], false)};
  std::vector<Value> seen, out;
  for (const Value& item : items->items) {
    Value item_key = TRY(key.Of(env, item));
    bool known = false;
    for (size_t i = 0; i < seen.size() && !known; ++i) known = TRY(Equal(env, seen[i], item_key));
    if (known) continue;
    seen.push_back(std::move(item_key));
    out.push_back(item);
  }
  return MakeGenerator(env, std::move(out));
}

Result<Value> GroupBy(Env& env, const Args& args) {
  const SequenceRef items = TRY(Iterate(env, args[0]));
  const SortKey key{args[1], BoolArg(args[3], false), args[2]};
  const SortKey label{args[1], true, args[2]};
  std::vector<Value> groups, group;
  Value group_key, group_label;
  const auto close = [&]() -> Result<void> {
    if (group.empty()) return {};
    Value list = TRY(env.MakeList(std::exchange(group, {})));
    groups.push_back(TRY(env.MakeTuple({group_label, std::move(list)})));
    return {};
  };
  for (const Value& item : TRY(SortBy(env, items->items, key, false))) {
    Value item_key = TRY(key.Of(env, item));
    if (group.empty() || !TRY(Equal(env, item_key, group_key))) {
      TRY(close());
      group_key = std::move(item_key);
      group_label = TRY(label.Of(env, item));
    }
    group.push_back(item);
  }
  TRY(close());
  return env.MakeList(std::move(groups));
}

Result<Value> Batch(Env& env, const Args& args) {
  const SequenceRef items = TRY(Iterate(env, args[0]));
  const Int width = TRY(IntArg(args[1], 0));
  if (width <= 0 || width > INT32_MAX) return InvalidInput("batch wants a positive size");
  std::vector<Value> out, row;
  for (size_t i = 0; i < items->items.size(); ++i) {
    row.push_back(items->items[i]);
    const bool last = i + 1 == items->items.size();
    if (last && !args[2].absent() && !args[2].IsNone()) {
      TRY(env.Allocate(static_cast<size_t>(width) * sizeof(Value)));
      row.resize(static_cast<size_t>(width), args[2]);
    }
    if (last || row.size() == static_cast<size_t>(width))
      out.push_back(TRY(env.MakeList(std::exchange(row, {}))));
  }
  return MakeGenerator(env, std::move(out));
}

Result<Value> SliceFilter(Env& env, const Args& args) {
  const SequenceRef items = TRY(Iterate(env, args[0]));
  const Int wanted = TRY(IntArg(args[1], 0));
  if (wanted <= 0 || wanted > INT32_MAX) return InvalidInput("slice wants a positive number");
  const size_t slices = static_cast<size_t>(wanted);
  TRY(env.Step(slices));
  const size_t each = items->items.size() / slices;
  const size_t longer = items->items.size() % slices;  // the first ones have one more
  std::vector<Value> out;
  for (size_t i = 0, at = 0; i < slices; ++i) {
    const size_t size = each + (i < longer ? 1 : 0);
    const auto begin = items->items.begin() + static_cast<ptrdiff_t>(at);
    std::vector<Value> part(begin, begin + static_cast<ptrdiff_t>(size));
    if (!args[2].absent() && !args[2].IsNone() && i >= longer) part.push_back(args[2]);
    out.push_back(TRY(env.MakeList(std::move(part))));
    at += size;
  }
  return MakeGenerator(env, std::move(out));
}

Result<Value> Items(Env& env, const Args& args) {
  std::vector<Value> pairs;
  if (args[0].IsUndefined()) return MakeGenerator(env, {});
  if (!args[0].Is(Kind::kDict))
    return InvalidInput("Can only get item pairs from a mapping.").Got("{}", args[0].TypeName());
  for (const auto& [key, value] : args[0].dict().entries)
    pairs.push_back(TRY(env.MakeTuple({key, value})));
  return MakeGenerator(env, std::move(pairs));
}

constexpr Builtin kFilters[] = {
    {"first", "seq", 0, First},
    {"last", "seq", 0, Last},
    {"length", "obj", 0, LengthFilter},
    {"count", "obj", 0, LengthFilter},
    {"list", "value", 0, ListFilter},
    {"join", "value d attribute", 0, Join},
    {"reverse", "value", 0, Reverse},
    {"sum", "iterable attribute start", 0, Sum},
    {"max", "value case_sensitive attribute", 0, Max},
    {"min", "value case_sensitive attribute", 0, Min},
    {"sort", "value reverse case_sensitive attribute", 0, Sort},
    {"dictsort", "value case_sensitive by reverse", 0, DictSort},
    {"unique", "value case_sensitive attribute", 0, Unique},
    {"groupby", "value attribute default case_sensitive", 2, GroupBy},
    {"batch", "value linecount fill_with", 2, Batch},
    {"slice", "value slices fill_with", 2, SliceFilter},
    {"items", "value", 0, Items},
};

}  // namespace

std::span<const Builtin> ListFilters() { return kFilters; }

}  // namespace hexlane::jinja
