// Engine::RenderChat: JSON texts of a conversation to the prompt text.
#include "base/json.h"
#include "runtime/engine_impl.h"

namespace hexlane {
namespace {

// In the order of the text's keys: templates print them. Absent for an empty text.
Result<std::optional<OrderedJson>> Parse(std::string_view text, std::string_view where) {
  if (text.empty()) return std::nullopt;
  TRY(ParseJson(text, where));  // depth and syntax, with the offset
  return OrderedJson::parse(text);
}

const OrderedJson* Pointer(const std::optional<OrderedJson>& json) {
  return json ? &*json : nullptr;
}

}  // namespace

Result<std::string> Engine::RenderChat(std::string_view messages_json,
                                       const PromptOptions& options) const {
  if (!impl_->chat) return NotFound("the package has no chat template");
  if (!*impl_->chat) return Failure(impl_->chat->error());
  const auto messages = TRY(Parse(messages_json, "messages"));
  const auto tools = TRY(Parse(options.tools_json, "tools"));
  const auto variables = TRY(Parse(options.variables_json, "template variables"));
  if (!messages) return InvalidInput("there are no messages");
  if (variables && !variables->is_object())
    return InvalidInput("template variables are not a JSON object");
  return (*impl_->chat)
      ->Render(*messages, {.add_generation_prompt = options.add_generation_prompt,
                           .continue_final_message = options.continue_final_message,
                           .tools = Pointer(tools),
                           .variables = Pointer(variables)});
}

}  // namespace hexlane
