// str methods that look for something in the string or cut it up.
#include "runtime/jinja/builtins.h"
#include "runtime/jinja/operators.h"
#include "runtime/jinja/print.h"
#include "runtime/jinja/text_lines.h"

namespace hexlane::jinja {
namespace {

constexpr auto kNone = std::string_view::npos;

Result<std::string_view> NeedText(const Value& value) {
  if (value.IsText()) return std::string_view(value.text());
  return InvalidInput("a string method wants a str argument").Got("{}", value.TypeName());
}

// text[start:stop] of find, count, startswith, …, and the index of its first character.
struct Window {
  std::string_view text;
  size_t first = 0;
  bool valid = true;  // false: start is past the end
};

Result<Window> CutWindow(const Value& self, const Value& start, const Value& stop) {
  const std::string_view text = self.text();
  if (start.absent() && stop.absent()) return Window{text, 0, true};
  const Int size = static_cast<Int>(CharCount(text));
  const auto clamp = [&](Int index) { return std::max<Int>(0, index < 0 ? index + size : index); };
  const Int first = clamp(TRY(IntArg(start, 0)));
  const Int last = std::min(size, clamp(TRY(IntArg(stop, size))));
  if (first > size || first > last) return Window{"", 0, false};
  const size_t begin = ByteOffset(text, static_cast<size_t>(first));
  const size_t end = ByteOffset(text, static_cast<size_t>(last));
  return Window{text.substr(begin, end - begin), static_cast<size_t>(first), true};
}

// std::string_view::rfind takes quadratic time on some strings, which is paid for in steps.
Result<size_t> FindLast(Env& env, std::string_view text, std::string_view what) {
  if (what.size() > 1) TRY(env.Step(text.size() / 64 * what.size()));
  return text.rfind(what);
}

Result<Value> Find(Env& env, const Args& args, bool last, bool must) {
  const std::string_view what = TRY(NeedText(args[1]));
  const Window window = TRY(CutWindow(args[0], args[2], args[3]));
  const size_t at = !window.valid ? kNone
                    : last        ? TRY(FindLast(env, window.text, what))
                                  : FindText(window.text, what);
  if (at == kNone && must) return InvalidInput("substring not found");
  if (at == kNone) return Value(Int{-1});
  return Value::Size(window.first + CharCount(window.text.substr(0, at)));
}
Result<Value> FindMethodRun(Env& env, const Args& args) { return Find(env, args, false, false); }
Result<Value> RFind(Env& env, const Args& args) { return Find(env, args, true, false); }
Result<Value> Index(Env& env, const Args& args) { return Find(env, args, false, true); }
Result<Value> RIndex(Env& env, const Args& args) { return Find(env, args, true, true); }

Result<Value> Count(Env&, const Args& args) {
  const std::string_view what = TRY(NeedText(args[1]));
  const Window window = TRY(CutWindow(args[0], args[2], args[3]));
  return Value::Size(window.valid ? CountText(window.text, what) : 0);
}

Result<Value> MatchesEdge(const Args& args, bool start) {
  const Window window = TRY(CutWindow(args[0], args[2], args[3]));
  const auto matches = [&](std::string_view part) {
    if (!window.valid) return false;
    return start ? window.text.starts_with(part) : window.text.ends_with(part);
  };
  if (!args[1].Is(Value::Kind::kTuple)) return Value(matches(TRY(NeedText(args[1]))));
  for (const Value& part : args[1].sequence()->items)
    if (matches(TRY(NeedText(part)))) return Value(true);
  return Value(false);
}
Result<Value> StartsWith(Env&, const Args& args) { return MatchesEdge(args, true); }
Result<Value> EndsWith(Env&, const Args& args) { return MatchesEdge(args, false); }

Result<void> AddPiece(Env& env, std::string_view piece, std::vector<Value>& pieces) {
  pieces.push_back(TRY(env.MakeText(std::string(piece))));
  return {};
}

// The bytes of the word at the end of `text`, which does not end with a blank.
size_t LastWordSize(std::string_view text) {
  size_t size = 0;
  while (size < text.size()) {
    const std::string_view rest = text.substr(0, text.size() - size);
    const std::string_view shorter = Strip(rest, Side::kRight);
    if (shorter.size() < rest.size()) break;
    ++size;
    while (size < text.size() && (text[text.size() - size] & 0xC0) == 0x80) ++size;
  }
  return size;
}

size_t FirstWordSize(std::string_view text) {
  size_t size = 0;
  while (size < text.size() && !IsSpace(CharAt(text, size).code)) size += CharAt(text, size).size;
  return size;
}

// Words from the left or the right; after `limit` of them the rest as it is.
Result<std::vector<Value>> SplitBlanks(Env& env, std::string_view text, size_t limit, bool right) {
  std::vector<Value> pieces;
  const Side side = right ? Side::kRight : Side::kLeft;
  for (text = Strip(text, side); !text.empty(); text = Strip(text, side)) {
    if (pieces.size() == limit) {
      TRY(AddPiece(env, text, pieces));
      break;
    }
    const size_t size = right ? LastWordSize(text) : FirstWordSize(text);
    const size_t begin = right ? text.size() - size : 0;
    TRY(AddPiece(env, text.substr(begin, size), pieces));
    text = right ? text.substr(0, begin) : text.substr(size);
  }
  return pieces;
}

Result<std::vector<Value>> SplitAt(Env& env, std::string_view text, std::string_view separator,
                                   size_t limit, bool right) {
  if (separator.empty()) return InvalidInput("empty separator");
  std::vector<Value> pieces;
  while (pieces.size() < limit) {
    const size_t at = right ? TRY(FindLast(env, text, separator)) : FindText(text, separator);
    if (at == kNone) break;
    const size_t after = at + separator.size();
    TRY(AddPiece(env, right ? text.substr(after) : text.substr(0, at), pieces));
    text = right ? text.substr(0, at) : text.substr(after);
  }
  TRY(AddPiece(env, text, pieces));
  return pieces;
}

Result<Value> SplitText(Env& env, const Args& args, bool right) {
  const Int wanted = TRY(IntArg(args[2], -1));
  const size_t limit = wanted < 0 || wanted > INT32_MAX ? INT32_MAX : static_cast<size_t>(wanted);
  const std::string_view text = args[0].text();
  std::vector<Value> pieces;
  if (args[1].absent() || args[1].IsNone()) {
    pieces = TRY(SplitBlanks(env, text, limit, right));
  } else {
    pieces = TRY(SplitAt(env, text, TRY(NeedText(args[1])), limit, right));
  }
  if (right) std::reverse(pieces.begin(), pieces.end());
  return env.MakeList(std::move(pieces));
}
Result<Value> Split(Env& env, const Args& args) { return SplitText(env, args, false); }
Result<Value> RSplit(Env& env, const Args& args) { return SplitText(env, args, true); }

Result<Value> Partition(Env& env, const Args& args, bool right) {
  const std::string_view text = args[0].text();
  const std::string_view separator = TRY(NeedText(args[1]));
  if (separator.empty()) return InvalidInput("empty separator");
  const size_t at = right ? TRY(FindLast(env, text, separator)) : FindText(text, separator);
  std::vector<Value> parts;
  if (at == kNone) {
    TRY(AddPiece(env, right ? "" : text, parts));
    TRY(AddPiece(env, "", parts));
    TRY(AddPiece(env, right ? text : "", parts));
  } else {
    TRY(AddPiece(env, text.substr(0, at), parts));
    TRY(AddPiece(env, separator, parts));
    TRY(AddPiece(env, text.substr(at + separator.size()), parts));
  }
  return env.MakeTuple(std::move(parts));
}
Result<Value> LeftPartition(Env& env, const Args& args) { return Partition(env, args, false); }
Result<Value> RightPartition(Env& env, const Args& args) { return Partition(env, args, true); }

Result<Value> SplitLinesMethod(Env& env, const Args& args) {
  std::vector<Value> lines;
  for (const std::string_view line : SplitLines(args[0].text(), BoolArg(args[1], false)))
    TRY(AddPiece(env, line, lines));
  return env.MakeList(std::move(lines));
}

Result<Value> Replace(Env& env, const Args& args) {
  return ReplaceText(env, args[0].text(), TRY(NeedText(args[1])), TRY(NeedText(args[2])),
                     TRY(IntArg(args[3], -1)));
}

Result<Value> RemovePrefix(Env& env, const Args& args) {
  std::string_view text = args[0].text();
  const std::string_view prefix = TRY(NeedText(args[1]));
  if (text.starts_with(prefix)) text.remove_prefix(prefix.size());
  return env.MakeText(std::string(text));
}
Result<Value> RemoveSuffix(Env& env, const Args& args) {
  std::string_view text = args[0].text();
  const std::string_view suffix = TRY(NeedText(args[1]));
  if (text.ends_with(suffix)) text.remove_suffix(suffix.size());
  return env.MakeText(std::string(text));
}

constexpr Builtin kMethods[] = {
    {"find", "self sub start end", 2, FindMethodRun},
    {"rfind", "self sub start end", 2, RFind},
    {"index", "self sub start end", 2, Index},
    {"rindex", "self sub start end", 2, RIndex},
    {"count", "self sub start end", 2, Count},
    {"startswith", "self prefix start end", 2, StartsWith},
    {"endswith", "self suffix start end", 2, EndsWith},
    {"split", "self sep maxsplit", 1, Split},
    {"rsplit", "self sep maxsplit", 1, RSplit},
    {"partition", "self sep", 2, LeftPartition},
    {"rpartition", "self sep", 2, RightPartition},
    {"splitlines", "self keepends", 1, SplitLinesMethod},
    {"replace", "self old new count", 3, Replace},
    {"removeprefix", "self prefix", 2, RemovePrefix},
    {"removesuffix", "self suffix", 2, RemoveSuffix},
};

}  // namespace

std::span<const Builtin> FindingMethods() { return kMethods; }

}  // namespace hexlane::jinja
