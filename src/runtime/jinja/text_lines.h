// String operations that filters and methods share and that may make long strings.
#ifndef HEXLANE_RUNTIME_JINJA_TEXT_LINES_H_
#define HEXLANE_RUNTIME_JINJA_TEXT_LINES_H_

#include "runtime/jinja/env.h"
#include "runtime/jinja/text.h"

namespace hexlane::jinja {

// str.splitlines(keep_ends)
std::vector<std::string_view> SplitLines(std::string_view text, bool keep_ends);
// str.replace(from, to, count); count < 0: all
Result<Value> ReplaceText(Env& env, std::string_view text, std::string_view from,
                          std::string_view to, Int count);
// Blanks, none when width is negative.
Result<std::string> Padding(Env& env, Int width);
// Pads to `width` characters with `fill` (one character) on that side, as str.center, rjust and
// ljust.
Result<Value> JustifyText(Env& env, std::string_view text, Int width, std::string_view fill,
                          Side side);

}  // namespace hexlane::jinja

#endif  // HEXLANE_RUNTIME_JINJA_TEXT_LINES_H_
