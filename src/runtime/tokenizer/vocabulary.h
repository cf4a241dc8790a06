// Token texts by id and ids by text.
#ifndef HEXLANE_RUNTIME_TOKENIZER_VOCABULARY_H_
#define HEXLANE_RUNTIME_TOKENIZER_VOCABULARY_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hexlane/status.h"
#include "runtime/tokenizer/tokenizer_json.h"

namespace hexlane::tokenizer {

inline constexpr int64_t kMaxTokenId =
    (1 << 22) - 1;  // sixteen times the largest vocabulary in use

// Immutable; safe to share between threads.
class Vocabulary {
 public:
  Vocabulary() = default;
  // kCorrupt: an id out of range, or an id or a text used twice.
  static Result<Vocabulary> Create(std::string arena, const std::vector<VocabEntry>& entries,
                                   std::string_view where);

  std::optional<int32_t> Find(std::string_view text) const;
  std::optional<std::string_view> Text(int64_t id) const;
  int64_t id_end() const {
    return static_cast<int64_t>(tokens_.size());
  }  // one more than the largest id

 private:
  struct Token {
    uint32_t offset = 0;
    uint32_t size = UINT32_MAX;  // of an id that is not used
  };
  size_t Slot(std::string_view text) const;
  std::string_view View(const Token& token) const {
    return std::string_view(arena_).substr(token.offset, token.size);
  }

  std::string arena_;
  std::vector<Token> tokens_;  // by id
  std::vector<int32_t>
      slots_;  // ids by hash of the text, open addressing; -1: free. A power of two of them
};

}  // namespace hexlane::tokenizer

#endif  // HEXLANE_RUNTIME_TOKENIZER_VOCABULARY_H_
