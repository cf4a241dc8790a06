// Reading the objects of tokenizer.json: every field is known or refused.
#ifndef HEXLANE_RUNTIME_TOKENIZER_FIELDS_H_
#define HEXLANE_RUNTIME_TOKENIZER_FIELDS_H_

#include <initializer_list>
#include <string>
#include <string_view>

#include "base/json.h"
#include "hexlane/status.h"

namespace hexlane::tokenizer {

// kUnsupported naming the first field of `object` that is not in `known`; kCorrupt when it is not
// an object.
Result<void> OnlyFields(const Json& object, std::initializer_list<std::string_view> known,
                        std::string_view where);

// object[key], a string of exactly one character.
Result<char32_t> CharacterField(const Json& object, std::string_view key, std::string_view where);

// object[key], an integer in [0, max].
Result<int64_t> CountField(const Json& object, std::string_view key, int64_t max,
                           std::string_view where);

// object[key] when it is there and not null.
const Json* OptionalField(const Json& object, std::string_view key);

// Steps state by what factor they can lengthen a text at most. kUnsupported when a chain of them
// passes kMaxGrowth: no real tokenizer does, and a hostile one must not fill the memory.
inline constexpr double kMaxGrowth = 10'000;
Result<void> CheckGrowth(double growth, std::string_view where);

// kUnsupported when an affix (prefix, suffix) read from the file passes kMaxAffixBytes.
inline constexpr size_t kMaxAffixBytes = 256;
Result<void> CheckAffix(std::string_view affix, std::string_view where);

// kUnsupported: "<kind> '<type>'" at `where`.
Failure UnsupportedType(std::string_view kind, std::string_view type, std::string_view where);

}  // namespace hexlane::tokenizer

#endif  // HEXLANE_RUNTIME_TOKENIZER_FIELDS_H_
