// Tokens beside the model's vocabulary that are found in the text before anything else: special
// ones and others.
#ifndef HEXLANE_RUNTIME_TOKENIZER_ADDED_TOKENS_H_
#define HEXLANE_RUNTIME_TOKENIZER_ADDED_TOKENS_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/json.h"
#include "hexlane/status.h"
#include "runtime/tokenizer/normalizer.h"
#include "runtime/tokenizer/regex.h"
#include "runtime/tokenizer/vocabulary.h"

namespace hexlane::tokenizer {

struct AddedToken {
  int32_t id = 0;
  std::string content;
  std::string normal_form;   // of content when `normalized`, else content: what Decode sees
  bool single_word = false;  // not inside a word
  bool lstrip = false;       // takes the white space before it
  bool rstrip = false;       // takes the white space after it
  bool normalized = true;    // looked for in the normalised text, in its normalised form
  bool special = false;
};

// `id` is the id unless `json` has one.
Result<AddedToken> AddedTokenFromJson(const Json& json, std::optional<int64_t> id,
                                      std::string_view where);

// Finds the longest of many texts at the leftmost place, then goes on behind it.
class TextMatcher {
 public:
  void Add(std::string text, int32_t value);
  void Finish();

  struct Match {
    Range range;
    int32_t value = 0;
  };
  std::optional<Match> Next(std::string_view text, size_t from) const;

 private:
  std::optional<Match> LongestAt(std::string_view text, size_t at) const;
  std::vector<std::pair<std::string, int32_t>> entries_;  // sorted by text
  std::array<Range, 256> by_first_byte_{};                // of entries_
};

// Immutable after Create; safe to share between threads.
class AddedTokens {
 public:
  AddedTokens() = default;
  AddedTokens(AddedTokens&&) = default;  // by_content_ views tokens_, which a move leaves in place
  AddedTokens& operator=(AddedTokens&&) = default;

  // A token whose text the model has too takes the model's id, as in Hugging Face. kCorrupt: an id
  // used twice.
  static Result<AddedTokens> Create(std::vector<AddedToken> tokens, const Vocabulary& vocabulary,
                                    const Normalizer* normalizer, std::string_view where);

  // A stretch of text: one token, or (token == nullptr) text between tokens.
  struct Part {
    Range range;
    const AddedToken* token = nullptr;
  };
  // Cuts `text` at the tokens with .normalized == `normalized`; special ones only if
  // `parse_special`.
  std::vector<Part> Split(std::string_view text, bool normalized, bool parse_special) const;

  const AddedToken* Find(std::string_view content) const;
  const AddedToken* Get(int64_t id) const;
  int64_t id_end() const { return id_end_; }  // one more than the largest id

 private:
  std::vector<AddedToken> tokens_;
  std::unordered_map<std::string_view, size_t> by_content_;  // indices into tokens_
  std::unordered_map<int64_t, size_t> by_id_;
  TextMatcher raw_;
  TextMatcher normalized_;
  int64_t id_end_ = 0;
};

}  // namespace hexlane::tokenizer

#endif  // HEXLANE_RUNTIME_TOKENIZER_ADDED_TOKENS_H_
