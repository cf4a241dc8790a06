// GGUF vocabularies become Hugging Face's tokenizer.json, so that the runtime has one mechanism.
#ifndef HEXLANE_FORMATS_GGUF_GGUF_TOKENIZER_H_
#define HEXLANE_FORMATS_GGUF_GGUF_TOKENIZER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/tokenizer_files.h"
#include "hexlane/status.h"

namespace hexlane {

enum class GgufTokenType : int32_t {
  kNormal = 1,
  kUnknown = 2,
  kControl = 3,      // special
  kUserDefined = 4,  // found in the text as a whole, but not special
  kUnused = 5,
  kByte = 6,
};

// The tokenizer.* keys of a GGUF file; each member names its key. Nothing in it is trusted.
struct GgufVocabulary {
  std::string model;                // tokenizer.ggml.model: "gpt2" (byte-level BPE), "llama" (SPM)
  std::string pre;                  // tokenizer.ggml.pre; empty when absent
  std::vector<std::string> tokens;  // tokenizer.ggml.tokens, by id
  std::vector<float> scores;        // tokenizer.ggml.scores; "llama" only, one per token
  std::vector<int32_t> types;       // tokenizer.ggml.token_type, see GgufTokenType; may be empty
  std::vector<std::string> merges;  // tokenizer.ggml.merges, "left right" by rank; "gpt2" only
  std::optional<int64_t> bos_id;    // tokenizer.ggml.bos_token_id, and so on
  std::optional<int64_t> eos_id;    // absent for "llama": bos 1, eos 2, unknown 0
  std::optional<int64_t> unk_id;    // unknown_token_id
  std::optional<int64_t> pad_id;    // padding_token_id
  std::optional<bool> add_bos;      // add_bos_token; absent: true for "llama" and pre "llama-bpe"
  std::optional<bool> add_eos;      // add_eos_token; absent: false
  std::optional<bool> add_space_prefix;      // absent: true; "llama" only
  std::optional<std::string> chat_template;  // tokenizer.chat_template
  std::optional<int64_t> context_length;     // <arch>.context_length; becomes model_max_length
};

// `where` names the file in errors. kUnsupported: a model or `pre` that is not known. kCorrupt:
// lists whose lengths disagree, ids outside the vocabulary, tokens that occur twice or are not
// UTF-8, scores that are not numbers. The merges of "llama" follow from the scores, as in Hugging
// Face's converter.
Result<TokenizerFiles> TokenizerFromGguf(const GgufVocabulary& vocabulary, std::string_view where);

}  // namespace hexlane

#endif  // HEXLANE_FORMATS_GGUF_GGUF_TOKENIZER_H_
