#include "runtime/tokenizer/vocabulary.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <utility>

namespace hexlane::tokenizer {

Result<Vocabulary> Vocabulary::Create(std::string arena, const std::vector<VocabEntry>& entries,
                                      std::string_view where) {
  Vocabulary out;
  out.arena_ = std::move(arena);
  out.slots_.assign(std::bit_ceil(2 * entries.size() + 1), -1);
  int64_t max_id = -1;
  for (const VocabEntry& entry : entries) max_id = std::max(max_id, entry.id);
  if (max_id > kMaxTokenId)
    return Corrupt("token id too large")
        .At("{}", where)
        .Want("at most {}", kMaxTokenId)
        .Got("{}", max_id);
  out.tokens_.resize(static_cast<size_t>(max_id + 1));
  for (const VocabEntry& entry : entries) {
    const Token token{entry.offset, entry.size};
    if (entry.id < 0)
      return Corrupt("negative token id")
          .At("{}", where)
          .Got("{} for '{}'", entry.id, out.View(token));
    if (out.Text(entry.id)) return Corrupt("token id {} is used twice", entry.id).At("{}", where);
    const size_t slot = out.Slot(out.View(token));
    if (out.slots_[slot] >= 0)
      return Corrupt("token '{}' occurs twice", out.View(token)).At("{}", where);
    out.slots_[slot] = static_cast<int32_t>(entry.id);
    out.tokens_[static_cast<size_t>(entry.id)] = token;
  }
  return out;
}

// Where `text` is, or would go.
size_t Vocabulary::Slot(std::string_view text) const {
  const size_t mask = slots_.size() - 1;
  size_t slot = std::hash<std::string_view>()(text) & mask;
  while (slots_[slot] >= 0 && View(tokens_[static_cast<size_t>(slots_[slot])]) != text)
    slot = (slot + 1) & mask;
  return slot;
}

std::optional<int32_t> Vocabulary::Find(std::string_view text) const {
  if (slots_.empty()) return std::nullopt;
  const int32_t id = slots_[Slot(text)];
  return id >= 0 ? std::optional(id) : std::nullopt;
}

std::optional<std::string_view> Vocabulary::Text(int64_t id) const {
  if (id < 0 || id >= id_end() || tokens_[static_cast<size_t>(id)].size == UINT32_MAX)
    return std::nullopt;
  return View(tokens_[static_cast<size_t>(id)]);
}

}  // namespace hexlane::tokenizer
