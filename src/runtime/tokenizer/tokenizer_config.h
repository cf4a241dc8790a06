// What Hexlane takes from tokenizer_config.json.
#ifndef HEXLANE_RUNTIME_TOKENIZER_TOKENIZER_CONFIG_H_
#define HEXLANE_RUNTIME_TOKENIZER_TOKENIZER_CONFIG_H_

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hexlane/status.h"
#include "runtime/tokenizer/added_tokens.h"

namespace hexlane::tokenizer {

// The other fields of the file steer Python code (tensor names, padding, truncation) and do not
// change ids.
struct TokenizerConfig {
  std::optional<std::string> bos_token;
  std::optional<std::string> eos_token;
  std::optional<std::string> unk_token;
  std::optional<std::string> pad_token;
  std::optional<bool> add_bos_token;
  std::optional<bool> add_eos_token;
  std::vector<std::pair<std::string, std::string>>
      chat_templates;                    // name, Jinja text; the usual one is "default"
  std::vector<AddedToken> added_tokens;  // added_tokens_decoder
};

// Empty text: all absent.
Result<TokenizerConfig> ParseTokenizerConfig(std::string_view text, std::string_view where);

}  // namespace hexlane::tokenizer

#endif  // HEXLANE_RUNTIME_TOKENIZER_TOKENIZER_CONFIG_H_
