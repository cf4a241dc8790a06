// Messages to the prompt text, exactly as transformers' apply_chat_template(tokenize=False) writes
// it.
#ifndef HEXLANE_RUNTIME_CHAT_CHAT_TEMPLATE_H_
#define HEXLANE_RUNTIME_CHAT_CHAT_TEMPLATE_H_

#include <ctime>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hexlane/status.h"
#include "runtime/jinja/template.h"

namespace hexlane {

struct ChatOptions {
  bool add_generation_prompt = false;  // end with the header of the assistant's next message
  bool continue_final_message =
      false;  // leave the last message open, for the model to go on with it
  const nlohmann::ordered_json* tools =
      nullptr;  // array of function schemas; null: the template sees None
  const nlohmann::ordered_json* documents = nullptr;  // likewise
  const nlohmann::ordered_json* variables =
      nullptr;                 // object: further variables, e.g. enable_thinking
  std::optional<std::tm> now;  // for templates that print the date; absent: local time
};

// Names of special tokens and their texts, e.g. {"bos_token", "<s>"}.
using SpecialTokens = std::vector<std::pair<std::string, std::string>>;

class ChatTemplate {
 public:
  // From the template's text, as a GGUF's tokenizer.chat_template or a chat_template.jinja holds
  // it. kCorrupt with the line when it is not valid Jinja.
  static Result<ChatTemplate> Create(std::string_view source, SpecialTokens special_tokens);

  // From a tokenizer_config.json: its chat_template, one text or a list of named ones of which
  // "default" and, when tools are given, "tool_use" are used; and its special tokens. `source`,
  // when not empty, takes the place of chat_template (a chat_template.jinja beside the file).
  // kNotFound when there is no template.
  static Result<ChatTemplate> FromTokenizerConfig(const nlohmann::ordered_json& config,
                                                  std::string_view source = {});

  // `messages`: array of objects with role and content. kInvalidInput when the template refuses
  // them (its own words) or fails. Safe to call from several threads.
  Result<std::string> Render(const nlohmann::ordered_json& messages,
                             const ChatOptions& options = {}) const;

 private:
  ChatTemplate(jinja::Template parsed, SpecialTokens special_tokens)
      : template_(std::move(parsed)), special_tokens_(std::move(special_tokens)) {}

  jinja::Template template_;
  std::optional<jinja::Template> tool_template_;  // used instead when tools are given
  SpecialTokens special_tokens_;
};

}  // namespace hexlane

#endif  // HEXLANE_RUNTIME_CHAT_CHAT_TEMPLATE_H_
