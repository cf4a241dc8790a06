// Reading tokenizer.json. The two huge members, model.vocab and model.merges, never become JSON
// values.
#ifndef HEXLANE_RUNTIME_TOKENIZER_TOKENIZER_JSON_H_
#define HEXLANE_RUNTIME_TOKENIZER_TOKENIZER_JSON_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "hexlane/status.h"

namespace hexlane::tokenizer {

// Texts laid end to end: entry i is arena.substr(offset, size).
struct VocabEntry {
  uint32_t offset = 0;
  uint32_t size = 0;
  int64_t id = 0;  // as in the file, unchecked
};
struct MergeEntry {
  uint32_t offset = 0;  // left part, directly followed by the right part
  uint32_t left_size = 0;
  uint32_t right_size = 0;
};

struct TokenizerJson {
  Json root;  // all but model.vocab (when it is an object) and model.merges (when it is an array)
  bool has_vocab = false;
  bool has_merges = false;
  std::string vocab_arena;
  std::vector<VocabEntry> vocab;
  std::string merge_arena;
  std::vector<MergeEntry> merges;  // "left right" and ["left", "right"] alike
};

// kCorrupt with the offset when the text is not JSON, nests too deep, or vocab or merges hold
// something else.
Result<TokenizerJson> ParseTokenizerJson(std::string_view text, std::string_view where);

}  // namespace hexlane::tokenizer

#endif  // HEXLANE_RUNTIME_TOKENIZER_TOKENIZER_JSON_H_
