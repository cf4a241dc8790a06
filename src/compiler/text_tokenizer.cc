#include "base/json.h"
#include "compiler/source.h"
#include "hexlane/compiler.h"
#include "runtime/chat/chat_template.h"
#include "runtime/tokenizer/tokenizer.h"

namespace hexlane {
namespace {

// Depth-checked, with the order of keys kept: templates print objects.
Result<OrderedJson> ParseOrdered(std::string_view text, std::string_view what) {
  TRY(ParseJson(text, what));
  return OrderedJson::parse(text);
}

// Takes `key` out of an object of arguments; null when it is not there.
OrderedJson Take(OrderedJson& arguments, const char* key) {
  if (!arguments.contains(key)) return nullptr;
  OrderedJson value = std::move(arguments[key]);
  arguments.erase(key);
  return value;
}

class FileTokenizer : public TextTokenizer {
 public:
  FileTokenizer(std::unique_ptr<Tokenizer> tokenizer, std::string config)
      : tokenizer_(std::move(tokenizer)), config_(std::move(config)) {}

  std::vector<int32_t> Encode(std::string_view text, bool add_special,
                              bool parse_special) const override {
    return tokenizer_->Encode(text,
                              {.add_special_tokens = add_special, .parse_special = parse_special});
  }

  Result<std::string> Decode(std::span<const int32_t> ids, bool skip_special) const override {
    for (const int32_t id : ids) {
      if (id < 0 || id >= tokenizer_->vocab_size())
        return InvalidInput("token id {}", id).Want("0 … {}", tokenizer_->vocab_size() - 1);
    }
    return tokenizer_->Decode(ids, skip_special);
  }

  Result<std::string> RenderChat(std::string_view messages_json,
                                 std::string_view arguments_json) const override {
    if (config_.empty()) return NotFound("there is no tokenizer_config.json, so no chat template");
    const OrderedJson config = TRY(ParseOrdered(config_, "tokenizer_config.json"));
    const ChatTemplate chat = TRY(ChatTemplate::FromTokenizerConfig(config));
    const OrderedJson messages = TRY(ParseOrdered(messages_json, "messages"));
    OrderedJson variables = OrderedJson::object();
    if (!arguments_json.empty()) variables = TRY(ParseOrdered(arguments_json, "chat variables"));
    if (!variables.is_object()) return InvalidInput("chat variables must be a JSON object");
    const OrderedJson tools = Take(variables, "tools"), documents = Take(variables, "documents");
    const OrderedJson prompt = Take(variables, "add_generation_prompt");
    const OrderedJson open = Take(variables, "continue_final_message");
    return chat.Render(messages, {.add_generation_prompt = prompt == true,
                                  .continue_final_message = open == true,
                                  .tools = tools.is_null() ? nullptr : &tools,
                                  .documents = documents.is_null() ? nullptr : &documents,
                                  .variables = &variables});
  }

 private:
  std::unique_ptr<Tokenizer> tokenizer_;
  std::string config_;
};

}  // namespace

Result<std::shared_ptr<const TextTokenizer>> TextTokenizer::Open(
    const std::filesystem::path& path) {
  TokenizerFiles files = TRY(ReadTokenizerFiles(path));
  auto tokenizer = TRY(MakeTokenizer(files, path));
  return std::make_shared<FileTokenizer>(std::move(tokenizer),
                                         std::move(files.tokenizer_config_json));
}

}  // namespace hexlane
