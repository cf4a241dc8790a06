// GPT-2's printable alphabet: every byte is one character, so that any text is a string without
// spaces or controls.
#ifndef HEXLANE_RUNTIME_TOKENIZER_BYTE_LEVEL_H_
#define HEXLANE_RUNTIME_TOKENIZER_BYTE_LEVEL_H_

#include <optional>
#include <string>
#include <string_view>

namespace hexlane::tokenizer {

// Appends the characters of the bytes of `bytes`.
void AppendByteLevel(std::string_view bytes, std::string& out);

// The bytes that `text` stands for; nullopt when a character is not of the alphabet.
std::optional<std::string> FromByteLevel(std::string_view text);

// GPT-2's pre-tokenizer pattern.
inline constexpr std::string_view kByteLevelRegex =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

}  // namespace hexlane::tokenizer

#endif  // HEXLANE_RUNTIME_TOKENIZER_BYTE_LEVEL_H_
