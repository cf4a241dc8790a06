#include "runtime/chat/chat_template.h"

#include <array>
#include <nlohmann/json.hpp>

namespace hexlane {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<std::string_view, 7> kSpecialTokenNames = {
    "bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"};

// A token's text: itself, or the content of its description; nothing when it is null or absent.
std::optional<std::string> TokenText(const Json& config, std::string_view name) {
  const auto it = config.find(name);
  if (it == config.end()) return std::nullopt;
  const Json& token = it->is_object() && it->contains("content") ? (*it)["content"] : *it;
  if (!token.is_string()) return std::nullopt;
  return token.get<std::string>();
}

SpecialTokens ReadSpecialTokens(const Json& config) {
  SpecialTokens tokens;
  for (const std::string_view name : kSpecialTokenNames)
    if (std::optional<std::string> text = TokenText(config, name))
      tokens.emplace_back(name, std::move(*text));
  return tokens;
}

// The text of the named template in a list of {name, template}, or nothing.
std::optional<std::string> NamedTemplate(const Json& list, std::string_view name) {
  for (const Json& entry : list) {
    if (!entry.is_object() || !entry.contains("name") || !entry.contains("template")) continue;
    if (entry["name"] == name && entry["template"].is_string())
      return entry["template"].get<std::string>();
  }
  return std::nullopt;
}

const Json& OrNull(const Json* json) {
  static const Json null;
  return json == nullptr ? null : *json;
}

std::string_view TrimLeft(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\n\v\f\r");
  return begin == std::string_view::npos ? std::string_view() : text.substr(begin);
}

std::string_view Trim(std::string_view text) {
  text = TrimLeft(text);
  return text.substr(0, text.find_last_not_of(" \t\n\v\f\r") + 1);
}

// The text of the last message; the last text part where the content has parts.
Result<std::string> FinalText(const Json& messages) {
  const Json& last = messages.back();
  if (last.is_object() && last.contains("content")) {
    const Json& content = last["content"];
    if (content.is_string()) return content.get<std::string>();
    for (auto part = content.rbegin(); content.is_array() && part != content.rend(); ++part)
      if (part->is_object() && part->contains("text") && (*part)["text"].is_string())
        return (*part)["text"].get<std::string>();
  }
  return InvalidInput("the last message has no text to continue");
}

// Cuts what the template wrote after the text of the last message.
Result<std::string> CutAfterFinalMessage(std::string prompt, const Json& messages) {
  const std::string text = TRY(FinalText(messages));
  const size_t at = prompt.rfind(Trim(text));
  if (at == std::string::npos)
    return InvalidInput("the last message cannot be continued: the chat template changes its text");
  const std::string_view whole = TrimLeft(text);
  const bool kept = std::string_view(prompt).substr(at, whole.size()) == text;
  prompt.resize(at + (kept ? whole.size() : Trim(text).size()));
  return prompt;
}

Result<void> CheckArguments(const Json& messages, const ChatOptions& options) {
  if (!messages.is_array()) return InvalidInput("the messages of a chat are not a JSON array");
  if (options.variables != nullptr && !options.variables->is_object())
    return InvalidInput("the further variables of a chat are not a JSON object");
  if (!options.continue_final_message) return {};
  if (options.add_generation_prompt)
    return Usage("a chat cannot both continue the last message and begin a new one");
  if (messages.empty()) return InvalidInput("there is no last message to continue");
  return {};
}

}  // namespace

Result<ChatTemplate> ChatTemplate::Create(std::string_view source, SpecialTokens special_tokens) {
  return ChatTemplate(TRY(jinja::Template::Parse(source)), std::move(special_tokens));
}

Result<ChatTemplate> ChatTemplate::FromTokenizerConfig(const Json& config,
                                                       std::string_view source) {
  if (!config.is_object()) return Corrupt("tokenizer_config.json is not an object");
  SpecialTokens tokens = ReadSpecialTokens(config);
  if (!source.empty()) return Create(source, std::move(tokens));
  const auto it = config.find("chat_template");
  if (it != config.end() && it->is_string())
    return Create(it->get_ref<const std::string&>(), std::move(tokens));
  const Json list = it != config.end() && it->is_array() ? *it : Json::array();
  const std::optional<std::string> usual = NamedTemplate(list, "default");
  const std::optional<std::string> with_tools = NamedTemplate(list, "tool_use");
  if (!usual && !with_tools)
    return NotFound("the model has no chat template")
        .At("tokenizer_config.json: chat_template")
        .Remedy(
            "Give the prompt as plain text, or add a chat_template.jinja to the model's folder.");
  ChatTemplate chat = TRY(Create(usual ? *usual : *with_tools, std::move(tokens)));
  if (with_tools) chat.tool_template_ = TRY(jinja::Template::Parse(*with_tools));
  return chat;
}

Result<std::string> ChatTemplate::Render(const Json& messages, const ChatOptions& options) const {
  TRY(CheckArguments(messages, options));
  Json context = Json::object();
  for (const auto& [name, text] : special_tokens_) context[name] = text;
  if (options.variables != nullptr) context.update(*options.variables);
  context["messages"] = messages;
  context["tools"] = OrNull(options.tools);
  context["documents"] = OrNull(options.documents);
  context["add_generation_prompt"] = options.add_generation_prompt;
  jinja::RenderOptions render;
  render.now = options.now;
  const bool for_tools = options.tools != nullptr && tool_template_.has_value();
  const jinja::Template& chosen = for_tools ? *tool_template_ : template_;
  std::string prompt = TRY(chosen.Render(context, render));
  if (!options.continue_final_message) return prompt;
  return CutAfterFinalMessage(std::move(prompt), messages);
}

}  // namespace hexlane
