// Methods of str that map or test the whole string, and those of lists, tuples and dicts.
#include <algorithm>
#include <array>

#include "runtime/jinja/builtins.h"
#include "runtime/jinja/objects.h"
#include "runtime/jinja/operators.h"
#include "runtime/jinja/print.h"
#include "runtime/jinja/text_lines.h"

namespace hexlane::jinja {
namespace {

using Kind = Value::Kind;

template <std::string (*F)(std::string_view)>
Result<Value> Mapped(Env& env, const Args& args) {
  return env.MakeText(F(args[0].text()));
}

template <bool (*F)(char32_t)>
Result<Value> All(Env&, const Args& args) {
  return Value(AllChars(args[0].text(), F));
}

bool IsAlnum(char32_t c) { return IsAlpha(c) || (IsWordChar(c) && c != '_'); }

std::string SwapCase(std::string_view text) {
  std::string out;
  for (const std::string_view c : Chars(text))
    out += IsUpper(CharAt(c, 0).code) ? Lower(c) : Upper(c);
  return out;
}

Result<Value> IsAscii(Env&, const Args& args) {
  const auto ascii = [](char c) { return static_cast<unsigned char>(c) < 0x80; };
  return Value(std::all_of(args[0].text().begin(), args[0].text().end(), ascii));
}

Result<Value> Case(Env& env, const Args& args, std::string_view test) {
  return CallBuiltin(env, *FindTest(test), args);
}
Result<Value> IsLowerMethod(Env& env, const Args& args) { return Case(env, args, "lower"); }
Result<Value> IsUpperMethod(Env& env, const Args& args) { return Case(env, args, "upper"); }

template <Side side>
Result<Value> StripMethod(Env& env, const Args& args) {
  std::string_view chars;
  if (!args[1].absent() && !args[1].IsNone()) {
    if (!args[1].IsText()) return InvalidInput("strip arg must be None or str");
    chars = args[1].text();
    if (chars.empty()) return args[0];
    TRY(env.Step(args[0].text().size() / 64 * (chars.size() / 16)));
  }
  return env.MakeText(std::string(Strip(args[0].text(), side, chars)), args[0].IsMarkup());
}

template <Side side>
Result<Value> Justify(Env& env, const Args& args) {
  const std::string fill = args[2].absent() ? " " : TRY(TextArg(env, args[2]));
  if (CharCount(fill) != 1)
    return InvalidInput("The fill character must be exactly one character long");
  return JustifyText(env, args[0].text(), TRY(IntArg(args[1], 0)), fill, side);
}

Result<Value> ZFill(Env& env, const Args& args) {
  const std::string& text = args[0].text();
  const bool sign = text.starts_with('-') || text.starts_with('+');
  const Int width = TRY(IntArg(args[1], 0)) - (sign ? 1 : 0);
  const Value digits =
      TRY(JustifyText(env, std::string_view(text).substr(sign ? 1 : 0), width, "0", Side::kLeft));
  return env.MakeText(text.substr(0, sign ? 1 : 0) + digits.text());
}

Result<Value> Join(Env& env, const Args& args) {
  const SequenceRef items = TRY(Iterate(env, args[1]));
  std::string out;
  for (size_t i = 0; i < items->items.size(); ++i) {
    const Value& item = items->items[i];
    if (!item.IsText())
      return InvalidInput("sequence item {}: expected str instance, {} found", i, item.TypeName());
    TRY(env.Step());
    if (i > 0) out += args[0].text();
    out += item.text();
    if (out.size() > env.options().max_output_bytes) break;  // MakeText refuses it
  }
  return env.MakeText(std::move(out));
}

Result<Value> FormatMethod(Env& env, const Args& args) {
  Args values = args;
  values.positional.erase(values.positional.begin());
  return BraceFormat(env, args[0].text(), values);
}

constexpr Builtin kTextMethods[] = {
    {"upper", "self", 1, Mapped<Upper>},
    {"lower", "self", 1, Mapped<Lower>},
    {"casefold", "self", 1, Mapped<Lower>},
    {"title", "self", 1, Mapped<Title>},
    {"capitalize", "self", 1, Mapped<Capitalize>},
    {"swapcase", "self", 1, Mapped<SwapCase>},
    {"strip", "self chars", 1, StripMethod<Side::kBoth>},
    {"lstrip", "self chars", 1, StripMethod<Side::kLeft>},
    {"rstrip", "self chars", 1, StripMethod<Side::kRight>},
    {"center", "self width fillchar", 2, Justify<Side::kBoth>},
    {"rjust", "self width fillchar", 2, Justify<Side::kLeft>},
    {"ljust", "self width fillchar", 2, Justify<Side::kRight>},
    {"zfill", "self width", 2, ZFill},
    {"join", "self iterable", 2, Join},
    {"format", "*", 1, FormatMethod},
    {"isalpha", "self", 1, All<IsAlpha>},
    {"isalnum", "self", 1, All<IsAlnum>},
    {"isdigit", "self", 1, All<IsDecimal>},
    {"isdecimal", "self", 1, All<IsDecimal>},
    {"isnumeric", "self", 1, All<IsDecimal>},
    {"isspace", "self", 1, All<IsSpace>},
    {"islower", "self", 1, IsLowerMethod},
    {"isupper", "self", 1, IsUpperMethod},
    {"isascii", "self", 1, IsAscii},
};

Result<Value> MakeView(Env& env, std::string name, std::vector<Value> items) {
  return env.MakeObject(
      std::make_shared<DictView>(std::move(name), TRY(env.MakeSequence(std::move(items)))));
}

Result<Value> Keys(Env& env, const Args& args) {
  std::vector<Value> keys;
  for (const auto& entry : args[0].dict().entries) keys.push_back(entry.first);
  return MakeView(env, "dict_keys", std::move(keys));
}
Result<Value> Values(Env& env, const Args& args) {
  std::vector<Value> values;
  for (const auto& entry : args[0].dict().entries) values.push_back(entry.second);
  return MakeView(env, "dict_values", std::move(values));
}
Result<Value> Items(Env& env, const Args& args) {
  std::vector<Value> items;
  for (const auto& [key, value] : args[0].dict().entries)
    items.push_back(TRY(env.MakeTuple({key, value})));
  return MakeView(env, "dict_items", std::move(items));
}
Result<Value> Get(Env&, const Args& args) {
  if (const Value* value = args[0].dict().Find(args[1])) return *value;
  return args[2].absent() ? Value(None{}) : args[2];
}
Result<Value> Copy(Env&, const Args& args) { return args[0]; }  // values never change

constexpr Builtin kDictMethods[] = {
    {"get", "self key default", 2, Get}, {"keys", "self", 1, Keys}, {"values", "self", 1, Values},
    {"items", "self", 1, Items},         {"copy", "self", 1, Copy},
};

Result<Value> IndexOf(Env& env, const Args& args) {
  const std::vector<Value>& items = args[0].sequence()->items;
  for (size_t i = 0; i < items.size(); ++i)
    if (TRY(Equal(env, items[i], args[1]))) return Value::Size(i);
  return InvalidInput("the value is not in the {}", args[0].TypeName());
}
Result<Value> CountOf(Env& env, const Args& args) {
  Int count = 0;
  for (const Value& item : args[0].sequence()->items)
    if (TRY(Equal(env, item, args[1]))) ++count;
  return Value(count);
}

constexpr Builtin kListMethods[] = {
    {"index", "self value", 2, IndexOf},
    {"count", "self value", 2, CountOf},
    {"copy", "self", 1, Copy},
};

constexpr std::array<std::string_view, 8> kListChanges = {"append", "clear",  "extend",  "insert",
                                                          "pop",    "remove", "reverse", "sort"};
constexpr std::array<std::string_view, 5> kDictChanges = {"clear", "pop", "popitem", "setdefault",
                                                          "update"};

const Builtin* Find(std::span<const Builtin> rows, std::string_view name) {
  for (const Builtin& row : rows)
    if (row.name == name) return &row;
  return nullptr;
}

}  // namespace

std::span<const Builtin> TextMethods() { return kTextMethods; }

const Builtin* FindMethod(const Value& object, std::string_view name) {
  switch (object.kind()) {
    case Kind::kText: {
      const Builtin* method = Find(TextMethods(), name);
      return method != nullptr ? method : Find(FindingMethods(), name);
    }
    case Kind::kDict: return Find(kDictMethods, name);
    case Kind::kList: return Find(kListMethods, name);
    case Kind::kTuple: return Find(std::span(kListMethods).first(2), name);
    default: return nullptr;
  }
}

bool SandboxRefuses(const Value& object, std::string_view name) {
  const auto has = [&](const auto& names) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  if (name.starts_with("__")) return true;
  return (object.Is(Kind::kList) && has(kListChanges)) ||
         (object.Is(Kind::kDict) && has(kDictChanges));
}

}  // namespace hexlane::jinja
