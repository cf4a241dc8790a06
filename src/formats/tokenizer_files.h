// The tokenizer of a checkpoint, whatever the format it came from: the texts of Hugging Face's two
// files.
#ifndef HEXLANE_FORMATS_TOKENIZER_FILES_H_
#define HEXLANE_FORMATS_TOKENIZER_FILES_H_

#include <string>

namespace hexlane {

struct TokenizerFiles {
  std::string tokenizer_json;         // model, vocabulary, merges, pre-tokenizer, added tokens
  std::string tokenizer_config_json;  // bos/eos/pad tokens, chat template; may be empty
};

}  // namespace hexlane

#endif  // HEXLANE_FORMATS_TOKENIZER_FILES_H_
