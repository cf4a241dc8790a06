#include "runtime/tokenizer/added_tokens.h"

#include <algorithm>
#include <utility>

#include "runtime/tokenizer/fields.h"
#include "runtime/tokenizer/unicode.h"
#include "runtime/tokenizer/utf8.h"

namespace hexlane::tokenizer {
namespace {

constexpr size_t kMaxContentBytes = 4096;  // bounds the work at each position of a text

size_t SkipSpaceForward(std::string_view text, size_t at) {
  while (at < text.size() && IsWhitespace(DecodeUtf8(text, at).code_point))
    at += DecodeUtf8(text, at).size;
  return at;
}

size_t SkipSpaceBackward(std::string_view text, size_t at, size_t stop) {
  while (at > stop && IsWhitespace(DecodeUtf8Before(text, at).code_point))
    at -= DecodeUtf8Before(text, at).size;
  return at;
}

bool IsInsideWord(std::string_view text, const Range& range) {
  return (range.begin > 0 && IsWord(DecodeUtf8Before(text, range.begin).code_point)) ||
         (range.end < text.size() && IsWord(DecodeUtf8(text, range.end).code_point));
}

}  // namespace

Result<AddedToken> AddedTokenFromJson(const Json& json, std::optional<int64_t> id,
                                      std::string_view where) {
  TRY(OnlyFields(
      json, {"id", "content", "single_word", "lstrip", "rstrip", "normalized", "special", "__type"},
      where));
  AddedToken token;
  if (!id) id = TRY(CountField(json, "id", kMaxTokenId, where));
  token.id = static_cast<int32_t>(*id);
  token.content = TRY(JsonField<std::string>(json, "content", where));
  if (token.content.size() > kMaxContentBytes)
    return Unsupported("added token too long")
        .At("{}", where)
        .Want("at most {} bytes", kMaxContentBytes);
  token.special = TRY(JsonFieldOr<bool>(json, "special", false, where));
  token.single_word = TRY(JsonFieldOr<bool>(json, "single_word", false, where));
  token.lstrip = TRY(JsonFieldOr<bool>(json, "lstrip", false, where));
  token.rstrip = TRY(JsonFieldOr<bool>(json, "rstrip", false, where));
  token.normalized = TRY(JsonFieldOr<bool>(json, "normalized", !token.special, where));
  return token;
}

void TextMatcher::Add(std::string text, int32_t value) {
  if (!text.empty()) entries_.emplace_back(std::move(text), value);
}

void TextMatcher::Finish() {
  std::sort(entries_.begin(), entries_.end());
  for (size_t i = 0; i < entries_.size(); ++i) {
    Range& range = by_first_byte_[static_cast<uint8_t>(entries_[i].first[0])];
    if (range.end == 0) range.begin = i;
    range.end = i + 1;
  }
}

std::optional<TextMatcher::Match> TextMatcher::Next(std::string_view text, size_t from) const {
  if (entries_.empty()) return std::nullopt;
  for (size_t at = from; at < text.size(); ++at) {
    if (by_first_byte_[static_cast<uint8_t>(text[at])].end == 0) continue;
    if (auto match = LongestAt(text, at)) return match;
  }
  return std::nullopt;
}

// Narrows the range of sorted entries that agree with the text, byte by byte.
std::optional<TextMatcher::Match> TextMatcher::LongestAt(std::string_view text, size_t at) const {
  std::optional<Match> longest;
  Range range = by_first_byte_[static_cast<uint8_t>(text[at])];
  for (size_t depth = 1; range.begin < range.end; ++depth) {
    const auto& first = entries_[range.begin];
    if (first.first.size() == depth) longest = Match{{at, at + depth}, first.second};
    if (at + depth >= text.size()) break;
    const auto byte = static_cast<uint8_t>(text[at + depth]);
    const auto begin = entries_.begin() + static_cast<ptrdiff_t>(range.begin);
    const auto end = entries_.begin() + static_cast<ptrdiff_t>(range.end);
    const auto next_byte = [&](const auto& entry) {
      return entry.first.size() > depth ? static_cast<uint8_t>(entry.first[depth]) : -1;
    };
    const auto low =
        std::partition_point(begin, end, [&](const auto& e) { return next_byte(e) < byte; });
    const auto high =
        std::partition_point(low, end, [&](const auto& e) { return next_byte(e) == byte; });
    range = {static_cast<size_t>(low - entries_.begin()),
             static_cast<size_t>(high - entries_.begin())};
  }
  return longest;
}

Result<AddedTokens> AddedTokens::Create(std::vector<AddedToken> tokens,
                                        const Vocabulary& vocabulary, const Normalizer* normalizer,
                                        std::string_view where) {
  AddedTokens out;
  std::erase_if(tokens, [](const AddedToken& token) { return token.content.empty(); });
  out.tokens_ = std::move(tokens);
  for (size_t i = 0; i < out.tokens_.size(); ++i) {
    AddedToken& token = out.tokens_[i];
    if (!IsUtf8(token.content)) return Corrupt("added token is not UTF-8").At("{}[{}]", where, i);
    const auto model_id = vocabulary.Find(token.content);
    if (model_id) token.id = *model_id;
    const bool taken = !model_id && vocabulary.Text(token.id);
    if (!out.by_content_.emplace(token.content, i).second || taken ||
        !out.by_id_.emplace(token.id, i).second)
      return Corrupt("added token '{}' or its id {} is used twice", token.content, token.id)
          .At("{}[{}]", where, i);
    out.id_end_ = std::max<int64_t>(out.id_end_, token.id + 1);
    NormalizedText pattern{token.content, false};
    if (token.normalized && normalizer != nullptr) normalizer->Apply(pattern);
    token.normal_form = std::move(pattern.text);
    (token.normalized ? out.normalized_ : out.raw_).Add(token.normal_form, static_cast<int32_t>(i));
  }
  out.raw_.Finish();
  out.normalized_.Finish();
  return out;
}

std::vector<AddedTokens::Part> AddedTokens::Split(std::string_view text, bool normalized,
                                                  bool parse_special) const {
  const TextMatcher& matcher = normalized ? normalized_ : raw_;
  std::vector<Part> parts;
  size_t done = 0;
  size_t from = 0;
  while (const auto match = matcher.Next(text, from)) {
    from = match->range.end;
    const AddedToken& token = tokens_[static_cast<size_t>(match->value)];
    if ((token.special && !parse_special) ||
        (token.single_word && IsInsideWord(text, match->range)))
      continue;
    Range range = match->range;
    if (token.rstrip)  // the text from the token to `done`, if any, is space already
      range.end = SkipSpaceForward(text, std::max(range.end, done));
    if (token.lstrip)
      range.begin =
          std::max(SkipSpaceBackward(text, range.begin, std::min(done, range.begin)), done);
    if (range.begin >= range.end) continue;  // inside the space that the token before has taken
    if (done < range.begin) parts.push_back({{done, range.begin}});
    parts.push_back({range, &token});
    done = range.end;
  }
  if (done < text.size()) parts.push_back({{done, text.size()}});
  return parts;
}

const AddedToken* AddedTokens::Find(std::string_view content) const {
  const auto it = by_content_.find(content);
  return it == by_content_.end() ? nullptr : &tokens_[it->second];
}

const AddedToken* AddedTokens::Get(int64_t id) const {
  const auto it = by_id_.find(id);
  return it == by_id_.end() ? nullptr : &tokens_[it->second];
}

}  // namespace hexlane::tokenizer
