// A tokenizer for a model that was trained on nothing.
#ifndef HEXLANE_TOOLS_SYNTHETIC_CHECKPOINT_TOKENIZER_H_
#define HEXLANE_TOOLS_SYNTHETIC_CHECKPOINT_TOKENIZER_H_

#include <filesystem>
#include <string>

#include "base/json.h"
#include "shape.h"

namespace hexlane::synthetic {

struct TokenizerTexts {
  std::string tokenizer_json;
  std::string config_json;
  OrderedJson bos_id;  // null: none
  OrderedJson eos_id;
};

// Built like LLaMA's: BPE over "▁" for spaces, with byte fallback, exactly shape.vocab tokens:
// three special ones, the 256 bytes, printable ASCII, then strings of letters, frequent ones first,
// each a merge of the one before its last letter. kUsage for a vocabulary that has no room for the
// bytes.
Result<TokenizerTexts> MakeTokenizer(const ModelShape& shape);

// `path`, and the tokenizer_config.json beside it when there is one. kUsage when it has ids that
// the model has not.
Result<TokenizerTexts> CopyTokenizer(const std::filesystem::path& path, const ModelShape& shape);

}  // namespace hexlane::synthetic

#endif  // HEXLANE_TOOLS_SYNTHETIC_CHECKPOINT_TOKENIZER_H_
