// Text to token ids and back, as Hugging Face's tokenizers does with the same tokenizer.json.
#ifndef HEXLANE_RUNTIME_TOKENIZER_TOKENIZER_H_
#define HEXLANE_RUNTIME_TOKENIZER_TOKENIZER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hexlane/status.h"

namespace hexlane {

struct EncodeOptions {
  bool add_special_tokens = true;  // BOS, EOS, … where the tokenizer's post-processor puts them
  bool parse_special =
      true;  // recognise special tokens written in the text; false for untrusted text
};

// Immutable; safe to share between threads.
class Tokenizer {
 public:
  // From the texts of tokenizer.json and tokenizer_config.json (empty: none). Errors name the
  // field: kUnsupported for a model, normalizer, … or field that is not handled, kCorrupt for what
  // is not a tokenizer. Truncation and padding in tokenizer.json are not applied, as transformers
  // does by default.
  static Result<std::unique_ptr<Tokenizer>> FromJson(std::string_view tokenizer_json,
                                                     std::string_view tokenizer_config_json = {});
  ~Tokenizer();
  Tokenizer(const Tokenizer&) = delete;
  Tokenizer& operator=(const Tokenizer&) = delete;

  // Bytes that are not UTF-8 count as U+FFFD, one for each maximal subpart.
  std::vector<int32_t> Encode(std::string_view text, EncodeOptions options = {}) const;

  // Always whole UTF-8. Ids that are not in the vocabulary are left out. `skip_special` leaves out
  // special tokens.
  std::string Decode(std::span<const int32_t> ids, bool skip_special = false) const;

  int64_t vocab_size() const;  // one more than the largest id, added tokens included
  std::optional<std::string> Token(
      int32_t id) const;  // as written in tokenizer.json ("Ġthe", "<0x0A>")
  std::optional<int32_t> TokenId(std::string_view token) const;
  bool IsSpecial(int32_t id) const;

  // From tokenizer_config.json; absent where it has none, or names a token that is not in the
  // vocabulary.
  std::optional<int32_t> bos_id() const;
  std::optional<int32_t> eos_id() const;
  std::optional<int32_t> pad_id() const;
  const std::optional<std::string>& bos_token() const;
  const std::optional<std::string>& eos_token() const;
  const std::optional<std::string>& unk_token() const;
  const std::optional<std::string>& pad_token() const;

  // The ids that Encode puts around a text with add_special_tokens.
  const std::vector<int32_t>& prefix_ids() const;
  const std::vector<int32_t>& suffix_ids() const;

  // The chat template named "default", or the only one; nullopt when there is none.
  std::optional<std::string> chat_template() const;
  const std::vector<std::pair<std::string, std::string>>& chat_templates()
      const;  // name, Jinja text

 private:
  friend class StreamDecoder;
  struct Parts;
  explicit Tokenizer(std::unique_ptr<const Parts> parts);
  std::unique_ptr<const Parts> parts_;
};

// Decodes token by token: every piece is whole UTF-8, whatever the token boundaries. For one
// thread; the tokenizer must outlive it. The pieces together are what Decode gives, except that
// after broken UTF-8 from byte tokens the whole characters before the break are kept.
class StreamDecoder {
 public:
  explicit StreamDecoder(const Tokenizer& tokenizer, bool skip_special = true);
  ~StreamDecoder();
  StreamDecoder(StreamDecoder&&) noexcept;

  std::string Push(int32_t id);  // the text that is certain now; often empty inside a character
  std::string Finish();          // what was held back; an unfinished character becomes U+FFFD

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace hexlane

#endif  // HEXLANE_RUNTIME_TOKENIZER_TOKENIZER_H_
