#include "runtime/jinja/text_lines.h"

namespace hexlane::jinja {
namespace {

bool EndsLine(char32_t c) {
  return (c >= '\n' && c <= '\r') || (c >= 0x1C && c <= 0x1E) || c == 0x85 || c == 0x2028 ||
         c == 0x2029;
}

Failure TooLong(Env& env) {
  return InvalidInput("a string grows too long")
      .Want("at most {} bytes", env.options().max_output_bytes);
}

std::string Repeated(std::string_view text, size_t count) {
  std::string out;
  for (size_t i = 0; i < count; ++i) out += text;
  return out;
}

// Where the replacements go: the offsets of `from`, or every character boundary when it is empty.
std::vector<size_t> Occurrences(std::string_view text, std::string_view from, size_t limit) {
  std::vector<size_t> offsets;
  for (size_t at = 0; offsets.size() < limit;) {
    at = FindText(text, from, at);
    if (at == std::string_view::npos) break;
    offsets.push_back(at);
    if (from.empty() && at == text.size()) break;
    at += from.empty() ? CharAt(text, at).size : from.size();
  }
  return offsets;
}

}  // namespace

std::vector<std::string_view> SplitLines(std::string_view text, bool keep_ends) {
  std::vector<std::string_view> lines;
  size_t begin = 0;
  for (size_t i = 0; i < text.size();) {
    const Char c = CharAt(text, i);
    size_t next = i + c.size;
    if (EndsLine(c.code)) {
      if (c.code == '\r' && next < text.size() && text[next] == '\n') ++next;
      lines.push_back(text.substr(begin, (keep_ends ? next : i) - begin));
      begin = next;
    }
    i = next;
  }
  if (begin < text.size()) lines.push_back(text.substr(begin));
  return lines;
}

Result<Value> ReplaceText(Env& env, std::string_view text, std::string_view from,
                          std::string_view to, Int count) {
  const size_t limit = count < 0 || count > INT32_MAX ? INT32_MAX : static_cast<size_t>(count);
  const size_t most = std::min(limit, from.empty() ? text.size() + 1 : text.size() / from.size());
  TRY(env.Allocate(most * sizeof(size_t)));
  const std::vector<size_t> offsets = Occurrences(text, from, limit);
  if (!to.empty() && offsets.size() > env.options().max_output_bytes / to.size())
    return TooLong(env);
  std::string out;
  size_t done = 0;
  for (const size_t at : offsets) {
    out.append(text.substr(done, at - done)).append(to);
    done = at + from.size();
  }
  return env.MakeText(out.append(text.substr(done)));
}

Result<std::string> Padding(Env& env, Int width) {
  if (width > static_cast<Int>(env.options().max_output_bytes)) return TooLong(env);
  return std::string(width < 0 ? 0 : static_cast<size_t>(width), ' ');
}

Result<Value> JustifyText(Env& env, std::string_view text, Int width, std::string_view fill,
                          Side side) {
  const Int size = static_cast<Int>(CharCount(text));
  const Int missing = width - size;
  if (missing <= 0) return env.MakeText(std::string(text));
  if (missing > static_cast<Int>(env.options().max_output_bytes / fill.size())) return TooLong(env);
  Int left = side == Side::kLeft ? missing : 0;
  if (side == Side::kBoth) left = missing / 2 + (missing & width & 1);
  std::string out = Repeated(fill, static_cast<size_t>(left));
  out.append(text).append(Repeated(fill, static_cast<size_t>(missing - left)));
  return env.MakeText(std::move(out));
}

}  // namespace hexlane::jinja
