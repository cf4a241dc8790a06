// Strings as Python sees them: sequences of code points, kept as UTF-8. A byte that is not part of
// valid UTF-8 counts as one character and is passed through.
#ifndef HEXLANE_RUNTIME_JINJA_TEXT_H_
#define HEXLANE_RUNTIME_JINJA_TEXT_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace hexlane::jinja {

struct Char {
  char32_t code = 0;  // an invalid byte gives 0xDC00 + byte, which no valid character has
  size_t size = 1;    // bytes
};
Char CharAt(std::string_view text, size_t offset);  // offset < text.size()
void AppendChar(char32_t code, std::string& out);   // 0xDC00 + byte gives the byte back

size_t CharCount(std::string_view text);
size_t ByteOffset(std::string_view text,
                  size_t chars);  // of the character with that index, or the size
std::vector<std::string_view> Chars(std::string_view text);

bool IsSpace(char32_t code);  // str.isspace
bool IsUpper(char32_t code);
bool IsLower(char32_t code);
bool IsAlpha(char32_t code);
bool IsDecimal(char32_t code);
bool IsWordChar(char32_t code);  // \w of a regular expression
bool IsPrintable(char32_t code);

enum class Side { kLeft, kRight, kBoth };
// `chars` empty: white space.
std::string_view Strip(std::string_view text, Side side, std::string_view chars = {});

std::string Upper(std::string_view text);
std::string Lower(std::string_view text);
std::string Capitalize(std::string_view text);
std::string Title(std::string_view text);  // str.title

// First occurrence at or after `from`, or npos. Linear time, whatever the two strings.
size_t FindText(std::string_view text, std::string_view what, size_t from = 0);
size_t CountText(std::string_view text, std::string_view what);
bool AllChars(std::string_view text, bool (*test)(char32_t));  // false for ""

std::string EscapeHtml(std::string_view text);

}  // namespace hexlane::jinja

#endif  // HEXLANE_RUNTIME_JINJA_TEXT_H_
