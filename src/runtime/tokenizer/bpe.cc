#include "runtime/tokenizer/bpe.h"

#include <algorithm>
#include <utility>

#include "runtime/tokenizer/fields.h"
#include "runtime/tokenizer/utf8.h"

namespace hexlane::tokenizer {
namespace {

// Heap order: the smallest rank on top, of equal ranks the leftmost.
constexpr auto kLater = [](const auto& a, const auto& b) {
  return a.rank != b.rank ? a.rank > b.rank : a.position > b.position;
};

}  // namespace

Result<Bpe> Bpe::Create(TokenizerJson& json, std::string_view where) {
  const Json& model = *TRY(JsonObject(json.root, "model", where));
  const std::string here = fmt::format("{}: model", where);
  const std::string type = TRY(JsonFieldOr<std::string>(model, "type", "BPE", here));
  if (type != "BPE") return UnsupportedType("model", type, here);
  TRY(OnlyFields(model,
                 {"type", "dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix",
                  "fuse_unk", "byte_fallback", "ignore_merges"},
                 here));
  if (!json.has_vocab) return Corrupt("no vocabulary").At("{}.vocab", here).Want("an object");
  if (!json.has_merges) return Corrupt("no merges").At("{}.merges", here).Want("an array");
  Bpe bpe;
  bpe.vocabulary_ =
      TRY(Vocabulary::Create(std::move(json.vocab_arena), json.vocab, here + ".vocab"));
  TRY(bpe.ReadOptions(model, here));
  TRY(bpe.AddMerges(json, here));
  bpe.IndexCharacters();
  return bpe;
}

Result<void> Bpe::ReadOptions(const Json& model, std::string_view where) {
  if (TRY(JsonFieldOr<double>(model, "dropout", 0.0, where)) != 0.0)
    return Unsupported("dropout is not supported").At("{}.dropout", where);
  prefix_ = TRY(JsonFieldOr<std::string>(model, "continuing_subword_prefix", "", where));
  suffix_ = TRY(JsonFieldOr<std::string>(model, "end_of_word_suffix", "", where));
  TRY(CheckAffix(prefix_, fmt::format("{}.continuing_subword_prefix", where)));
  TRY(CheckAffix(suffix_, fmt::format("{}.end_of_word_suffix", where)));
  fuse_unk_ = TRY(JsonFieldOr<bool>(model, "fuse_unk", false, where));
  byte_fallback_ = TRY(JsonFieldOr<bool>(model, "byte_fallback", false, where));
  ignore_merges_ = TRY(JsonFieldOr<bool>(model, "ignore_merges", false, where));
  if (OptionalField(model, "unk_token") == nullptr) return {};
  const std::string unk = TRY(JsonField<std::string>(model, "unk_token", where));
  unk_ = vocabulary_.Find(unk);
  if (!unk_)
    return Corrupt("unknown unk_token").At("{}.unk_token", where).Want("a token").Got("'{}'", unk);
  return {};
}

Result<void> Bpe::AddMerges(const TokenizerJson& json, std::string_view where) {
  merges_ = MergeTable(json.merges.size());
  const std::string_view arena = json.merge_arena;
  std::string buffer;
  for (size_t i = 0; i < json.merges.size(); ++i) {
    const MergeEntry& entry = json.merges[i];
    const std::string_view left = arena.substr(entry.offset, entry.left_size);
    const std::string_view right = arena.substr(entry.offset + entry.left_size, entry.right_size);
    std::string_view joined = arena.substr(entry.offset, entry.left_size + entry.right_size);
    if (!prefix_.empty()) {
      buffer = left;
      buffer += right.substr(std::min(prefix_.size(), right.size()));
      joined = buffer;
    }
    const auto left_id = vocabulary_.Find(left);
    const auto right_id = vocabulary_.Find(right);
    const auto joined_id = vocabulary_.Find(joined);
    if (!left_id || !right_id || !joined_id)
      return Corrupt("merge of a token that is not in the vocabulary")
          .At("{}.merges[{}]", where, i)
          .Got("'{}' + '{}'", left, right);
    merges_.Add(*left_id, *right_id, {static_cast<int32_t>(i), *joined_id});
  }
  return {};
}

void Bpe::IndexCharacters() {
  for (size_t c = 0; c < kDirectChars; ++c)
    direct_[c] = vocabulary_.Find(ToUtf8(static_cast<char32_t>(c))).value_or(-1);
  for (size_t byte = 0; byte < 256; ++byte)
    byte_tokens_[byte] = vocabulary_.Find(fmt::format("<0x{:02X}>", byte)).value_or(-1);
}

void Bpe::Tokenize(std::string_view word, BpeScratch& scratch, std::vector<int32_t>& ids) const {
  if (ignore_merges_) {
    if (const auto id = vocabulary_.Find(word)) return ids.push_back(*id);
  }
  Start(word, scratch);
  MergeAll(scratch);
  for (const BpeScratch::Symbol& symbol : scratch.symbols) {
    if (!symbol.merged_away) ids.push_back(symbol.id);
  }
}

std::optional<int32_t> Bpe::FindCharacter(std::string_view character, char32_t c, bool first,
                                          bool last) const {
  const bool prefixed = !first && !prefix_.empty();
  const bool suffixed = last && !suffix_.empty();
  if (prefixed || suffixed) {
    return vocabulary_.Find(
        fmt::format("{}{}{}", prefixed ? prefix_ : "", character, suffixed ? suffix_ : ""));
  }
  if (c < kDirectChars) return direct_[c] >= 0 ? std::optional(direct_[c]) : std::nullopt;
  return vocabulary_.Find(character);
}

// The word as symbols: its characters; those not in the vocabulary as bytes, or as unk, or not at
// all.
void Bpe::Start(std::string_view word, BpeScratch& scratch) const {
  scratch.symbols.clear();
  bool pending_unk = false;  // as Hugging Face: an unk goes in only before the next known character
  const auto flush = [&] {
    if (std::exchange(pending_unk, false)) scratch.symbols.push_back({.id = *unk_});
  };
  for (size_t i = 0; i < word.size();) {
    const Utf8Char c = DecodeUtf8(word, i);
    const std::string_view character = word.substr(i, c.size);
    const bool first = i == 0;
    i += c.size;
    const bool last = i >= word.size();
    if (const auto id = FindCharacter(character, c.code_point, first, last)) {
      flush();
      scratch.symbols.push_back({.id = *id});
    } else if (!AddBytes(character, first, last, scratch) && unk_) {
      if (!fuse_unk_) flush();
      pending_unk = true;
    }
  }
  flush();
  const auto count = static_cast<int32_t>(scratch.symbols.size());
  for (int32_t i = 0; i < count; ++i) {
    scratch.symbols[static_cast<size_t>(i)].prev = i - 1;
    scratch.symbols[static_cast<size_t>(i)].next = i + 1 < count ? i + 1 : -1;
  }
}

// The bytes of a character as <0x..> tokens; false when one of them is not in the vocabulary.
bool Bpe::AddBytes(std::string_view character, bool first, bool last, BpeScratch& scratch) const {
  if (!byte_fallback_) return false;
  std::string affixed;
  if ((!first && !prefix_.empty()) || (last && !suffix_.empty())) {
    affixed = fmt::format("{}{}{}", first ? "" : prefix_, character, last ? suffix_ : "");
    character = affixed;
  }
  const auto token = [&](char byte) { return byte_tokens_[static_cast<uint8_t>(byte)]; };
  if (std::any_of(character.begin(), character.end(), [&](char byte) { return token(byte) < 0; }))
    return false;
  for (const char byte : character) scratch.symbols.push_back({.id = token(byte)});
  return true;
}

// Puts the merge of the symbol at `position` with its next into the heap, if there is one.
void Bpe::Push(int32_t position, BpeScratch& scratch) const {
  const auto& symbol = scratch.symbols[static_cast<size_t>(position)];
  if (symbol.next < 0) return;
  const Merge* merge = merges_.Get(symbol.id, scratch.symbols[static_cast<size_t>(symbol.next)].id);
  if (merge == nullptr) return;
  scratch.heap.push_back({merge->rank, position, merge->id});
  std::push_heap(scratch.heap.begin(), scratch.heap.end(), kLater);
}

void Bpe::MergeAll(BpeScratch& scratch) const {
  auto& symbols = scratch.symbols;
  scratch.heap.clear();
  for (int32_t i = 0; i < static_cast<int32_t>(symbols.size()); ++i) Push(i, scratch);
  while (!scratch.heap.empty()) {
    std::pop_heap(scratch.heap.begin(), scratch.heap.end(), kLater);
    const BpeScratch::Candidate top = scratch.heap.back();
    scratch.heap.pop_back();
    BpeScratch::Symbol& left = symbols[static_cast<size_t>(top.position)];
    if (left.merged_away || left.next < 0) continue;
    BpeScratch::Symbol& right = symbols[static_cast<size_t>(left.next)];
    const Merge* merge = merges_.Get(left.id, right.id);
    if (merge == nullptr || merge->id != top.id)
      continue;  // expired: one of the two has changed since
    left.id = top.id;
    left.next = right.next;
    right.merged_away = true;
    if (right.next >= 0) symbols[static_cast<size_t>(right.next)].prev = top.position;
    if (left.prev >= 0) Push(left.prev, scratch);
    Push(top.position, scratch);
  }
}

}  // namespace hexlane::tokenizer
