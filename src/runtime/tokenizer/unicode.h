// Character classes and text forms as Hugging Face's tokenizers (Rust) define them.
#ifndef HEXLANE_RUNTIME_TOKENIZER_UNICODE_H_
#define HEXLANE_RUNTIME_TOKENIZER_UNICODE_H_

#include <string>
#include <string_view>

namespace hexlane::tokenizer {

bool IsWhitespace(char32_t c);   // property White_Space
bool IsNumeric(char32_t c);      // category N
bool IsPunctuation(char32_t c);  // category P, or ASCII punctuation
bool IsMark(char32_t c);         // category M
bool IsWord(char32_t c);  // \w of UTS 18: alphabetic, mark, decimal digit, connector, join control

enum class NormalForm { kNfc, kNfd, kNfkc, kNfkd };

// `text` must be valid UTF-8. Linear in its length, whatever it holds.
std::string NormalizeUnicode(std::string_view text, NormalForm form);
std::string ToLower(std::string_view text);

}  // namespace hexlane::tokenizer

#endif  // HEXLANE_RUNTIME_TOKENIZER_UNICODE_H_
