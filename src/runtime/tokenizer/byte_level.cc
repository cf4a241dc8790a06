#include "runtime/tokenizer/byte_level.h"

#include <array>
#include <cstdint>

#include "runtime/tokenizer/utf8.h"

namespace hexlane::tokenizer {
namespace {

constexpr size_t kAlphabetEnd = 256 + 68;  // 188 bytes are themselves, 68 are U+0100 and up

constexpr bool IsItself(unsigned byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

constexpr std::array<char16_t, 256> kByteToChar = [] {
  std::array<char16_t, 256> table{};
  char16_t next = 256;
  for (unsigned byte = 0; byte < 256; ++byte)
    table[byte] = IsItself(byte) ? static_cast<char16_t>(byte) : next++;
  return table;
}();

constexpr std::array<int16_t, kAlphabetEnd> kCharToByte = [] {
  std::array<int16_t, kAlphabetEnd> table{};
  table.fill(-1);
  for (unsigned byte = 0; byte < 256; ++byte) table[kByteToChar[byte]] = static_cast<int16_t>(byte);
  return table;
}();

}  // namespace

void AppendByteLevel(std::string_view bytes, std::string& out) {
  for (const char byte : bytes) AppendUtf8(kByteToChar[static_cast<uint8_t>(byte)], out);
}

std::optional<std::string> FromByteLevel(std::string_view text) {
  std::string bytes;
  bytes.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    const Utf8Char c = DecodeUtf8(text, i);
    if (!c.valid || c.code_point >= kAlphabetEnd || kCharToByte[c.code_point] < 0)
      return std::nullopt;
    bytes += static_cast<char>(kCharToByte[c.code_point]);
    i += c.size;
  }
  return bytes;
}

}  // namespace hexlane::tokenizer
