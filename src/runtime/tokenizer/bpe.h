// The BPE model of tokenizer.json: byte-level and SentencePiece-style (byte fallback).
#ifndef HEXLANE_RUNTIME_TOKENIZER_BPE_H_
#define HEXLANE_RUNTIME_TOKENIZER_BPE_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hexlane/status.h"
#include "runtime/tokenizer/merge_table.h"
#include "runtime/tokenizer/tokenizer_json.h"
#include "runtime/tokenizer/vocabulary.h"

namespace hexlane::tokenizer {

// Buffers of Tokenize, kept between words by the caller.
class BpeScratch {
  friend class Bpe;
  struct Symbol {
    int32_t id = 0;
    int32_t prev = -1;  // indices into symbols; -1: none
    int32_t next = -1;
    bool merged_away = false;
  };
  struct Candidate {  // joins the symbol at `position` with its next
    int32_t rank = 0;
    int32_t position = 0;
    int32_t id = 0;
  };
  std::vector<Symbol> symbols;
  std::vector<Candidate> heap;
};

// Immutable; safe to share between threads.
class Bpe {
 public:
  // Takes vocab and merges out of `json`. kUnsupported: another model type, dropout, a field that
  // is not known; kCorrupt: merges of unknown tokens, an unknown unk_token.
  static Result<Bpe> Create(TokenizerJson& json, std::string_view where);

  // Appends the ids of `word` (valid UTF-8) to `ids`. O(n log n) for n characters.
  void Tokenize(std::string_view word, BpeScratch& scratch, std::vector<int32_t>& ids) const;

  const Vocabulary& vocabulary() const { return vocabulary_; }

 private:
  static constexpr size_t kDirectChars = 0x180;  // covers the byte-level alphabet

  Result<void> ReadOptions(const Json& model, std::string_view where);
  Result<void> AddMerges(const TokenizerJson& json, std::string_view where);
  void IndexCharacters();
  std::optional<int32_t> FindCharacter(std::string_view character, char32_t c, bool first,
                                       bool last) const;
  void Start(std::string_view word, BpeScratch& scratch) const;
  bool AddBytes(std::string_view character, bool first, bool last, BpeScratch& scratch) const;
  void MergeAll(BpeScratch& scratch) const;
  void Push(int32_t position, BpeScratch& scratch) const;

  Vocabulary vocabulary_;
  MergeTable merges_;
  std::optional<int32_t> unk_;
  std::string prefix_;  // continuing_subword_prefix: before every character of a word but the first
  std::string suffix_;  // end_of_word_suffix: after the last
  bool fuse_unk_ = false;
  bool byte_fallback_ = false;
  bool ignore_merges_ = false;
  std::array<int32_t, kDirectChars> direct_{};  // id of each of the first characters, -1: none
  std::array<int32_t, 256> byte_tokens_{};      // ids of <0x00>…<0xFF>, -1: none
};

}  // namespace hexlane::tokenizer

#endif  // HEXLANE_RUNTIME_TOKENIZER_BPE_H_
