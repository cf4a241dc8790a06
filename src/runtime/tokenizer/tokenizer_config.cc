#include "runtime/tokenizer/tokenizer_config.h"

#include <charconv>

#include "base/json.h"
#include "runtime/tokenizer/fields.h"
#include "runtime/tokenizer/vocabulary.h"

namespace hexlane::tokenizer {
namespace {

// A token: "text" or {"content": "text", …}.
Result<std::optional<std::string>> TokenField(const Json& json, std::string_view key,
                                              std::string_view where) {
  const Json* value = OptionalField(json, key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_object()) return std::optional(TRY(JsonField<std::string>(json, key, where)));
  return std::optional(
      TRY(JsonField<std::string>(*value, "content", fmt::format("{}.{}", where, key))));
}

Result<std::optional<bool>> FlagField(const Json& json, std::string_view key,
                                      std::string_view where) {
  if (OptionalField(json, key) == nullptr) return std::nullopt;
  return std::optional(TRY(JsonField<bool>(json, key, where)));
}

// A text, or a list of {"name", "template"}.
Result<void> ReadChatTemplates(const Json& json, std::string_view where, TokenizerConfig& config) {
  const Json* value = OptionalField(json, "chat_template");
  if (value == nullptr) return {};
  if (value->is_string()) {
    config.chat_templates.emplace_back("default", value->get<std::string>());
    return {};
  }
  const std::string here = fmt::format("{}.chat_template", where);
  for (const Json& entry : *TRY(JsonArray(json, "chat_template", where))) {
    std::string name = TRY(JsonField<std::string>(entry, "name", here));
    config.chat_templates.emplace_back(std::move(name),
                                       TRY(JsonField<std::string>(entry, "template", here)));
  }
  return {};
}

Result<void> ReadAddedTokens(const Json& json, std::string_view where, TokenizerConfig& config) {
  if (OptionalField(json, "added_tokens_decoder") == nullptr) return {};
  for (const auto& [key, token] : TRY(JsonObject(json, "added_tokens_decoder", where))->items()) {
    const std::string here = fmt::format("{}.added_tokens_decoder['{}']", where, key);
    int64_t id = 0;
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), id);
    if (error != std::errc() || end != key.data() + key.size() || id < 0 || id > kMaxTokenId)
      return Corrupt("bad token id").At("{}", here).Want("0 to {}", kMaxTokenId);
    config.added_tokens.push_back(TRY(AddedTokenFromJson(token, id, here)));
  }
  return {};
}

}  // namespace

Result<TokenizerConfig> ParseTokenizerConfig(std::string_view text, std::string_view where) {
  TokenizerConfig config;
  if (text.empty()) return config;
  const Json json = TRY(ParseJson(text, where));
  if (!json.is_object()) return Corrupt("not a JSON object").At("{}", where);
  config.bos_token = TRY(TokenField(json, "bos_token", where));
  config.eos_token = TRY(TokenField(json, "eos_token", where));
  config.unk_token = TRY(TokenField(json, "unk_token", where));
  config.pad_token = TRY(TokenField(json, "pad_token", where));
  config.add_bos_token = TRY(FlagField(json, "add_bos_token", where));
  config.add_eos_token = TRY(FlagField(json, "add_eos_token", where));
  TRY(ReadChatTemplates(json, where, config));
  TRY(ReadAddedTokens(json, where, config));
  return config;
}

}  // namespace hexlane::tokenizer
