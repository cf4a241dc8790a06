#include "runtime/tokenizer/tokenizer.h"

#include <algorithm>

#include "runtime/tokenizer/added_tokens.h"
#include "runtime/tokenizer/bpe.h"
#include "runtime/tokenizer/decoder.h"
#include "runtime/tokenizer/fields.h"
#include "runtime/tokenizer/normalizer.h"
#include "runtime/tokenizer/post_processor.h"
#include "runtime/tokenizer/pre_tokenizer.h"
#include "runtime/tokenizer/tokenizer_config.h"
#include "runtime/tokenizer/tokenizer_json.h"
#include "runtime/tokenizer/utf8.h"

namespace hexlane {

using namespace tokenizer;  // NOLINT: the parts live there

struct Tokenizer::Parts {
  static Result<Parts> FromJson(std::string_view tokenizer_json, std::string_view config_json);
  Result<void> ReadSteps(const Json& root);
  Result<void> ReadAddedTokens(const Json& root);
  Result<void> ReadPostProcessor(const Json& root);

  void EncodeSection(std::string_view text, bool at_start, const EncodeOptions& options,
                     BpeScratch& scratch, std::vector<int32_t>& ids) const;
  void EncodeWords(NormalizedText text, BpeScratch& scratch, std::vector<int32_t>& ids) const;

  std::optional<std::string_view> Token(int64_t id) const;
  std::optional<int32_t> TokenId(std::string_view token) const;
  std::optional<int32_t> NamedId(const std::optional<std::string>& token) const {
    return token ? TokenId(*token) : std::nullopt;
  }
  // The text to decode for `id`; nullopt when there is none.
  std::optional<std::string> DecodableToken(int64_t id, bool skip_special) const;

  TokenizerConfig config;
  Bpe bpe;
  std::unique_ptr<Normalizer> normalizer;       // may be null
  std::unique_ptr<PreTokenizer> pre_tokenizer;  // may be null
  PostProcessor post_processor;
  std::unique_ptr<Decoder> decoder;
  AddedTokens added;
};

Result<Tokenizer::Parts> Tokenizer::Parts::FromJson(std::string_view tokenizer_json,
                                                    std::string_view config_json) {
  Parts parts;
  TokenizerJson json = TRY(ParseTokenizerJson(tokenizer_json, "tokenizer.json"));
  TRY(OnlyFields(json.root,
                 {"version", "truncation", "padding", "added_tokens", "normalizer", "pre_tokenizer",
                  "post_processor", "decoder", "model"},
                 "tokenizer.json"));
  const std::string version =
      TRY(JsonFieldOr<std::string>(json.root, "version", "1.0", "tokenizer.json"));
  if (version != "1.0")
    return Unsupported("version '{}' is not supported", version).At("tokenizer.json: version");
  parts.config = TRY(ParseTokenizerConfig(config_json, "tokenizer_config.json"));
  parts.bpe = TRY(Bpe::Create(json, "tokenizer.json"));
  TRY(parts.ReadSteps(json.root));
  TRY(parts.ReadAddedTokens(json.root));
  TRY(parts.ReadPostProcessor(json.root));
  return parts;
}

Result<void> Tokenizer::Parts::ReadSteps(const Json& root) {
  if (const Json* json = OptionalField(root, "normalizer"))
    normalizer = TRY(MakeNormalizer(*json, "tokenizer.json: normalizer"));
  if (const Json* json = OptionalField(root, "pre_tokenizer"))
    pre_tokenizer = TRY(MakePreTokenizer(*json, "tokenizer.json: pre_tokenizer"));
  const Json* json = OptionalField(root, "decoder");
  decoder = TRY(MakeDecoder(json != nullptr ? *json : Json(), "tokenizer.json: decoder"));
  return {};
}

// Those of tokenizer.json, then those that only tokenizer_config.json has.
Result<void> Tokenizer::Parts::ReadAddedTokens(const Json& root) {
  std::vector<AddedToken> tokens;
  if (OptionalField(root, "added_tokens") != nullptr) {
    for (const Json& json : *TRY(JsonArray(root, "added_tokens", "tokenizer.json")))
      tokens.push_back(TRY(AddedTokenFromJson(
          json, std::nullopt, fmt::format("tokenizer.json: added_tokens[{}]", tokens.size()))));
  }
  added = TRY(AddedTokens::Create(tokens, bpe.vocabulary(), normalizer.get(),
                                  "tokenizer.json: added_tokens"));
  bool extended = false;
  for (const AddedToken& token : config.added_tokens) {
    if (added.Find(token.content) != nullptr) continue;
    tokens.push_back(token);
    extended = true;
  }
  if (extended)
    added = TRY(AddedTokens::Create(std::move(tokens), bpe.vocabulary(), normalizer.get(),
                                    "tokenizer_config.json: added_tokens_decoder"));
  return {};
}

// add_bos_token and add_eos_token, where tokenizer_config.json states them, have the last word.
Result<void> Tokenizer::Parts::ReadPostProcessor(const Json& root) {
  if (const Json* json = OptionalField(root, "post_processor"))
    post_processor = TRY(PostProcessor::FromJson(*json, "tokenizer.json: post_processor"));
  const auto ids = [&](bool wanted, const std::optional<std::string>& token) {
    const std::optional<int32_t> id = NamedId(token);
    return wanted && id ? std::vector<int32_t>{*id} : std::vector<int32_t>{};
  };
  if (config.add_bos_token) post_processor.SetBefore(ids(*config.add_bos_token, config.bos_token));
  if (config.add_eos_token) post_processor.SetAfter(ids(*config.add_eos_token, config.eos_token));
  return {};
}

// A section lies between non-normalised added tokens; `at_start`: it begins the text.
void Tokenizer::Parts::EncodeSection(std::string_view text, bool at_start,
                                     const EncodeOptions& options, BpeScratch& scratch,
                                     std::vector<int32_t>& ids) const {
  NormalizedText section{std::string(text), at_start};
  if (normalizer) normalizer->Apply(section);
  for (const AddedTokens::Part& part : added.Split(section.text, true, options.parse_special)) {
    if (part.token != nullptr) {
      ids.push_back(part.token->id);
      continue;
    }
    std::string words = section.text.substr(part.range.begin, part.range.end - part.range.begin);
    EncodeWords({std::move(words), section.at_start && part.range.begin == 0}, scratch, ids);
  }
}

void Tokenizer::Parts::EncodeWords(NormalizedText text, BpeScratch& scratch,
                                   std::vector<int32_t>& ids) const {
  if (text.text.empty()) return;
  Words words{std::move(text.text), {}, text.at_start};
  words.ranges.push_back({0, words.text.size()});
  if (pre_tokenizer) pre_tokenizer->Apply(words);
  for (const Range& range : words.ranges) bpe.Tokenize(words.Get(range), scratch, ids);
}

std::optional<std::string_view> Tokenizer::Parts::Token(int64_t id) const {
  if (const AddedToken* token = added.Get(id)) return token->content;
  return bpe.vocabulary().Text(id);
}

std::optional<int32_t> Tokenizer::Parts::TokenId(std::string_view token) const {
  if (const AddedToken* found = added.Find(token)) return found->id;
  return bpe.vocabulary().Find(token);
}

std::optional<std::string> Tokenizer::Parts::DecodableToken(int64_t id, bool skip_special) const {
  if (const AddedToken* token = added.Get(id)) {
    if (skip_special && token->special) return std::nullopt;
    return token->normal_form;
  }
  const auto text = bpe.vocabulary().Text(id);
  return text ? std::optional(std::string(*text)) : std::nullopt;
}

Tokenizer::Tokenizer(std::unique_ptr<const Parts> parts) : parts_(std::move(parts)) {}
Tokenizer::~Tokenizer() = default;

Result<std::unique_ptr<Tokenizer>> Tokenizer::FromJson(std::string_view tokenizer_json,
                                                       std::string_view tokenizer_config_json) {
  Parts parts = TRY(Parts::FromJson(tokenizer_json, tokenizer_config_json));
  return std::unique_ptr<Tokenizer>(new Tokenizer(std::make_unique<const Parts>(std::move(parts))));
}

std::vector<int32_t> Tokenizer::Encode(std::string_view text, EncodeOptions options) const {
  std::string repaired;
  if (!IsUtf8(text)) text = repaired = ReplaceInvalidUtf8(text);
  std::vector<int32_t> ids;
  if (options.add_special_tokens) ids = prefix_ids();
  BpeScratch scratch;
  for (const AddedTokens::Part& part : parts_->added.Split(text, false, options.parse_special)) {
    if (part.token != nullptr) {
      ids.push_back(part.token->id);
    } else {
      const std::string_view section =
          text.substr(part.range.begin, part.range.end - part.range.begin);
      parts_->EncodeSection(section, part.range.begin == 0, options, scratch, ids);
    }
  }
  if (options.add_special_tokens) ids.insert(ids.end(), suffix_ids().begin(), suffix_ids().end());
  return ids;
}

std::string Tokenizer::Decode(std::span<const int32_t> ids, bool skip_special) const {
  DecodeChain chain(*parts_->decoder, /*streaming=*/false);
  std::string text;
  for (const int32_t id : ids) {
    if (auto token = parts_->DecodableToken(id, skip_special))
      text += chain.Push(std::move(*token));
  }
  return text += chain.Finish();
}

int64_t Tokenizer::vocab_size() const {
  return std::max(parts_->added.id_end(), parts_->bpe.vocabulary().id_end());
}
std::optional<std::string> Tokenizer::Token(int32_t id) const {
  const auto text = parts_->Token(id);
  return text ? std::optional(std::string(*text)) : std::nullopt;
}
std::optional<int32_t> Tokenizer::TokenId(std::string_view token) const {
  return parts_->TokenId(token);
}
bool Tokenizer::IsSpecial(int32_t id) const {
  const AddedToken* token = parts_->added.Get(id);
  return token != nullptr && token->special;
}

std::optional<int32_t> Tokenizer::bos_id() const {
  return parts_->NamedId(parts_->config.bos_token);
}
std::optional<int32_t> Tokenizer::eos_id() const {
  return parts_->NamedId(parts_->config.eos_token);
}
std::optional<int32_t> Tokenizer::pad_id() const {
  return parts_->NamedId(parts_->config.pad_token);
}
const std::optional<std::string>& Tokenizer::bos_token() const { return parts_->config.bos_token; }
const std::optional<std::string>& Tokenizer::eos_token() const { return parts_->config.eos_token; }
const std::optional<std::string>& Tokenizer::unk_token() const { return parts_->config.unk_token; }
const std::optional<std::string>& Tokenizer::pad_token() const { return parts_->config.pad_token; }
const std::vector<int32_t>& Tokenizer::prefix_ids() const {
  return parts_->post_processor.before();
}
const std::vector<int32_t>& Tokenizer::suffix_ids() const { return parts_->post_processor.after(); }

const std::vector<std::pair<std::string, std::string>>& Tokenizer::chat_templates() const {
  return parts_->config.chat_templates;
}

std::optional<std::string> Tokenizer::chat_template() const {
  for (const auto& [name, text] : chat_templates()) {
    if (name == "default" || chat_templates().size() == 1) return text;
  }
  return std::nullopt;
}

struct StreamDecoder::State {
  const Tokenizer::Parts& parts;
  bool skip_special;
  DecodeChain chain;
};

StreamDecoder::StreamDecoder(const Tokenizer& tokenizer, bool skip_special)
    : state_(new State{*tokenizer.parts_, skip_special,
                       DecodeChain(*tokenizer.parts_->decoder, true)}) {}
StreamDecoder::~StreamDecoder() = default;
StreamDecoder::StreamDecoder(StreamDecoder&&) noexcept = default;

std::string StreamDecoder::Push(int32_t id) {
  auto token = state_->parts.DecodableToken(id, state_->skip_special);
  return token ? state_->chain.Push(std::move(*token)) : std::string();
}

std::string StreamDecoder::Finish() { return state_->chain.Finish(); }

}  // namespace hexlane
