#include "runtime/tokenizer/utf8.h"

#include <algorithm>
#include <cstdint>

namespace hexlane::tokenizer {
namespace {

// What may follow a lead byte: its payload, the number of continuation bytes, the range of the
// first of them (Unicode, table 3-7).
struct Lead {
  uint8_t payload = 0;
  int continuations = -1;  // -1: not a lead byte
  uint8_t low = 0x80;
  uint8_t high = 0xBF;
};

Lead ClassifyLead(uint8_t byte) {
  if (byte < 0x80) return {byte, 0};
  if (byte < 0xC2) return {};
  if (byte < 0xE0) return {static_cast<uint8_t>(byte & 0x1F), 1};
  if (byte < 0xF0) {
    return {static_cast<uint8_t>(byte & 0x0F), 2, static_cast<uint8_t>(byte == 0xE0 ? 0xA0 : 0x80),
            static_cast<uint8_t>(byte == 0xED ? 0x9F : 0xBF)};
  }
  if (byte < 0xF5) {
    return {static_cast<uint8_t>(byte & 0x07), 3, static_cast<uint8_t>(byte == 0xF0 ? 0x90 : 0x80),
            static_cast<uint8_t>(byte == 0xF4 ? 0x8F : 0xBF)};
  }
  return {};
}

}  // namespace

Utf8Char DecodeUtf8(std::string_view text, size_t offset) {
  Lead lead = ClassifyLead(static_cast<uint8_t>(text[offset]));
  if (lead.continuations < 0) return {};
  char32_t code_point = lead.payload;
  size_t size = 1;
  for (int i = 0; i < lead.continuations; ++i, ++size) {
    if (offset + size >= text.size()) return {.size = size, .cut = true};
    const auto byte = static_cast<uint8_t>(text[offset + size]);
    if (byte < lead.low || byte > lead.high) return {.size = size};
    lead.low = 0x80, lead.high = 0xBF;
    code_point = code_point << 6 | (byte & 0x3F);
  }
  return {code_point, size, true};
}

Utf8Char DecodeUtf8Before(std::string_view text, size_t end) {
  size_t begin = end - 1;
  while (begin > 0 && end - begin < 4 && (static_cast<uint8_t>(text[begin]) & 0xC0) == 0x80)
    --begin;
  return DecodeUtf8(text, begin);
}

void AppendUtf8(char32_t c, std::string& out) {
  const auto tail = [&](int shift) { return static_cast<char>(0x80 | (c >> shift & 0x3F)); };
  if (c < 0x80) {
    out += static_cast<char>(c);
  } else if (c < 0x800) {
    out += {static_cast<char>(0xC0 | c >> 6), tail(0)};
  } else if (c < 0x10000) {
    out += {static_cast<char>(0xE0 | c >> 12), tail(6), tail(0)};
  } else {
    out += {static_cast<char>(0xF0 | c >> 18), tail(12), tail(6), tail(0)};
  }
}

std::string ToUtf8(char32_t code_point) {
  std::string text;
  AppendUtf8(code_point, text);
  return text;
}

bool IsUtf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const Utf8Char c = DecodeUtf8(text, i);
    if (!c.valid) return false;
    i += c.size;
  }
  return true;
}

std::string ReplaceInvalidUtf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    const Utf8Char c = DecodeUtf8(text, i);
    out += c.valid ? text.substr(i, c.size) : kReplacementCharacter;
    i += c.size;
  }
  return out;
}

size_t CutTail(std::string_view text) {
  for (size_t size = 1; size <= std::min<size_t>(3, text.size()); ++size) {
    const size_t begin = text.size() - size;
    if ((static_cast<uint8_t>(text[begin]) & 0xC0) == 0x80) continue;
    const Utf8Char c = DecodeUtf8(text, begin);
    return c.cut && c.size == size ? size : 0;
  }
  return 0;
}

}  // namespace hexlane::tokenizer
