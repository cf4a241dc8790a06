// Filters on strings.
#include "runtime/jinja/builtins.h"
#include "runtime/jinja/operators.h"
#include "runtime/jinja/print.h"
#include "runtime/jinja/text.h"
#include "runtime/jinja/text_lines.h"

namespace hexlane::jinja {
namespace {

using Kind = Value::Kind;

template <std::string (*F)(std::string_view)>
Result<Value> Mapped(Env& env, const Args& args) {
  return env.MakeText(F(TRY(TextArg(env, args[0]))), args[0].IsMarkup());
}

bool StartsWord(char32_t c) {
  return c == '-' || c == '(' || c == '{' || c == '[' || c == '<' || IsSpace(c);
}

// Like str.title, but words begin after blanks and opening brackets only.
std::string TitleWords(std::string_view text) {
  std::string out;
  bool first = true;
  for (const std::string_view c : Chars(text)) {
    out += first ? Upper(c) : Lower(c);
    first = StartsWord(CharAt(c, 0).code);
  }
  return out;
}

Result<Value> Trim(Env& env, const Args& args) {
  const std::string text = TRY(TextArg(env, args[0]));
  const std::string chars = args[1].IsNone() ? "" : TRY(TextArg(env, args[1]));
  return env.MakeText(std::string(Strip(text, Side::kBoth, chars)), args[0].IsMarkup());
}

Result<Value> Replace(Env& env, const Args& args) {
  const Int count = TRY(IntArg(args[3], -1));
  return ReplaceText(env, TRY(TextArg(env, args[0])), TRY(TextArg(env, args[1])),
                     TRY(TextArg(env, args[2])), count);
}

Result<Value> Indent(Env& env, const Args& args) {
  const std::string text = TRY(TextArg(env, args[0])) + "\n";
  std::string indent = "    ";
  if (args[1].IsText()) {
    indent = args[1].text();
  } else if (!args[1].absent()) {
    indent = TRY(Padding(env, TRY(IntArg(args[1], 4))));
  }
  const bool blank = BoolArg(args[3], false);
  std::string out = BoolArg(args[2], false) ? indent : "";
  bool first = true;
  for (const std::string_view line : SplitLines(text, false)) {
    if (!first) out += '\n';
    if (!first && (blank || !line.empty())) out += indent;
    first = false;
    out += line;
    if (out.size() > env.options().max_output_bytes) break;  // MakeText refuses it
  }
  return env.MakeText(std::move(out), args[0].IsMarkup());
}

Result<Value> Center(Env& env, const Args& args) {
  return JustifyText(env, TRY(TextArg(env, args[0])), TRY(IntArg(args[1], 80)), " ", Side::kBoth);
}

Result<Value> WordCount(Env& env, const Args& args) {
  const std::string text = TRY(TextArg(env, args[0]));
  Int count = 0;
  bool in_word = false;
  for (const std::string_view c : Chars(text)) {
    const bool is_word = IsWordChar(CharAt(c, 0).code);
    if (is_word && !in_word) ++count;
    in_word = is_word;
  }
  return Value(count);
}

Result<Value> Escape(Env& env, const Args& args) {
  if (args[0].IsMarkup()) return args[0];
  return env.MakeText(EscapeHtml(TRY(TextArg(env, args[0]))), true);
}
Result<Value> ForceEscape(Env& env, const Args& args) {
  return env.MakeText(EscapeHtml(TRY(TextArg(env, args[0]))), true);
}
Result<Value> Safe(Env& env, const Args& args) {
  return env.MakeText(TRY(TextArg(env, args[0])), true);
}
Result<Value> String(Env& env, const Args& args) {
  if (args[0].IsText()) return args[0];
  return env.MakeText(TRY(TextArg(env, args[0])));
}

Result<Value> Format(Env& env, const Args& args) {
  if (!args.named.empty() && args.positional.size() > 1)
    return InvalidInput("can't handle positional and keyword arguments at the same time");
  const std::string format = TRY(TextArg(env, args[0]));
  if (args.named.empty()) {
    std::vector<Value> values(args.positional.begin() + 1, args.positional.end());
    return PercentFormat(env, format, TRY(env.MakeTuple(std::move(values))));
  }
  std::vector<std::pair<Value, Value>> entries;
  for (const auto& [name, value] : args.named) entries.emplace_back(TRY(env.MakeText(name)), value);
  return PercentFormat(env, format, TRY(env.MakeDict(std::move(entries))));
}

Result<Value> Truncate(Env& env, const Args& args) {
  const std::string text = TRY(TextArg(env, args[0]));
  const std::string end = args[3].absent() ? "..." : TRY(TextArg(env, args[3]));
  const Int length = TRY(IntArg(args[1], 255));
  const Int leeway = TRY(IntArg(args[4], 5));
  const Int room = length - static_cast<Int>(CharCount(end));
  if (room < 0 || leeway < 0) return InvalidInput("truncate: the length is shorter than its end");
  if (static_cast<Int>(CharCount(text)) <= length + leeway) return args[0];
  std::string cut = text.substr(0, ByteOffset(text, static_cast<size_t>(room)));
  if (!BoolArg(args[2], false)) cut.resize(std::min(cut.rfind(' '), cut.size()));
  return env.MakeText(cut + end);
}

// urllib.parse.quote with "/" safe.
std::string QuoteUrl(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool keep = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                      std::string_view("_.-~/").find(c) != std::string_view::npos;
    out += keep ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

constexpr Builtin kFilters[] = {
    {"upper", "s", 0, Mapped<Upper>},
    {"lower", "s", 0, Mapped<Lower>},
    {"capitalize", "s", 0, Mapped<Capitalize>},
    {"title", "s", 0, Mapped<TitleWords>},
    {"urlencode", "value", 0, Mapped<QuoteUrl>},
    {"trim", "value chars", 0, Trim},
    {"replace", "s old new count", 3, Replace},
    {"indent", "s width first blank", 0, Indent},
    {"center", "value width", 0, Center},
    {"wordcount", "s", 0, WordCount},
    {"escape", "s", 0, Escape},
    {"e", "s", 0, Escape},
    {"forceescape", "value", 0, ForceEscape},
    {"safe", "value", 0, Safe},
    {"string", "object", 0, String},
    {"format", "*", 1, Format},
    {"truncate", "s length killwords end leeway", 0, Truncate},
};

}  // namespace

std::span<const Builtin> TextFilters() { return kFilters; }

}  // namespace hexlane::jinja
