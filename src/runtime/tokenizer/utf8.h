// UTF-8, read without trusting it.
#ifndef HEXLANE_RUNTIME_TOKENIZER_UTF8_H_
#define HEXLANE_RUNTIME_TOKENIZER_UTF8_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace hexlane::tokenizer {

struct Utf8Char {
  char32_t code_point = 0xFFFD;  // U+FFFD when not valid
  size_t size = 1;  // bytes; when not valid, those of the maximal subpart (Unicode, section 3.9)
  bool valid = false;
  bool cut = false;  // not valid only because the text ends inside the character
};

// The character at `offset`, which must be below text.size().
Utf8Char DecodeUtf8(std::string_view text, size_t offset);

// The character that ends at `end` (> 0) of valid UTF-8.
Utf8Char DecodeUtf8Before(std::string_view text, size_t end);

void AppendUtf8(char32_t code_point, std::string& out);
std::string ToUtf8(char32_t code_point);

bool IsUtf8(std::string_view text);

// Every maximal subpart that is not UTF-8 becomes one U+FFFD.
std::string ReplaceInvalidUtf8(std::string_view text);

// The bytes at the end of `text` that begin a character which more bytes could complete.
size_t CutTail(std::string_view text);

inline constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";

}  // namespace hexlane::tokenizer

#endif  // HEXLANE_RUNTIME_TOKENIZER_UTF8_H_
