#include "runtime/tokenizer/fields.h"

#include <algorithm>

#include "runtime/tokenizer/utf8.h"

namespace hexlane::tokenizer {

Result<void> OnlyFields(const Json& object, std::initializer_list<std::string_view> known,
                        std::string_view where) {
  if (!object.is_object()) return Corrupt("not an object").At("{}", where);
  for (const auto& [key, value] : object.items()) {
    if (std::find(known.begin(), known.end(), key) == known.end())
      return Unsupported("unknown field '{}'", key).At("{}", where);
  }
  return {};
}

Result<char32_t> CharacterField(const Json& object, std::string_view key, std::string_view where) {
  const std::string text = TRY(JsonField<std::string>(object, key, where));
  const Utf8Char c = text.empty() ? Utf8Char{} : DecodeUtf8(text, 0);
  if (!c.valid || c.size != text.size())
    return Corrupt("bad field '{}'", key).At("{}", where).Want("one character").Got("'{}'", text);
  return c.code_point;
}

Result<int64_t> CountField(const Json& object, std::string_view key, int64_t max,
                           std::string_view where) {
  const int64_t value = TRY(JsonField<int64_t>(object, key, where));
  if (value < 0 || value > max)
    return Corrupt("bad field '{}'", key).At("{}", where).Want("0 to {}", max).Got("{}", value);
  return value;
}

const Json* OptionalField(const Json& object, std::string_view key) {
  if (!object.is_object()) return nullptr;
  const auto it = object.find(key);
  return it == object.end() || it->is_null() ? nullptr : &*it;
}

Result<void> CheckGrowth(double growth, std::string_view where) {
  if (growth <= kMaxGrowth) return {};
  return Unsupported("can make a text {:.3g} times longer", growth)
      .At("{}", where)
      .Want("at most {} times", kMaxGrowth);
}

Result<void> CheckAffix(std::string_view affix, std::string_view where) {
  if (affix.size() <= kMaxAffixBytes) return {};
  return Unsupported("prefix or suffix of {} bytes", affix.size())
      .At("{}", where)
      .Want("at most {}", kMaxAffixBytes);
}

Failure UnsupportedType(std::string_view kind, std::string_view type, std::string_view where) {
  return Unsupported("{} of type '{}' is not supported", kind, type).At("{}", where);
}

}  // namespace hexlane::tokenizer
