// Input: tokenizer.json, then (after a zero byte) the text to encode; without it some text is used.
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "runtime/tokenizer/tokenizer.h"
#include "runtime/tokenizer/utf8.h"

namespace hexlane {
namespace {

constexpr std::string_view kText = "Hello  wörld 123 <x>\n\u00BD\xFF ab\u0301 \xF0\x9F\x98";

void RoundTrip(const Tokenizer& tokenizer, std::string_view text, EncodeOptions options) {
  const std::vector<int32_t> ids = tokenizer.Encode(text, options);
  StreamDecoder stream(tokenizer, false);
  for (const int32_t id : ids) CHECK(tokenizer::IsUtf8(stream.Push(id)));
  CHECK(tokenizer::IsUtf8(stream.Finish()));
  CHECK(tokenizer::IsUtf8(tokenizer.Decode(ids)));
  for (const int32_t id : tokenizer.Encode(text, {.add_special_tokens = false}))
    CHECK(id >= 0 && id < tokenizer.vocab_size());
}

}  // namespace
}  // namespace hexlane

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const size_t zero = input.find('\0');
  const std::string_view json = input.substr(0, zero);
  const std::string_view text = zero == input.npos ? hexlane::kText : input.substr(zero + 1);
  const auto tokenizer = hexlane::Tokenizer::FromJson(json, json);
  const auto plain = hexlane::Tokenizer::FromJson(json);
  for (const auto* made : {&tokenizer, &plain}) {
    if (!*made) continue;
    hexlane::RoundTrip(***made, text, {});
    hexlane::RoundTrip(***made, text, {.parse_special = false});
  }
  return 0;
}
