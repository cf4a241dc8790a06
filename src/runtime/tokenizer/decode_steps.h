// The steps that decoders are made of (decoder.h).
#ifndef HEXLANE_RUNTIME_TOKENIZER_DECODE_STEPS_H_
#define HEXLANE_RUNTIME_TOKENIZER_DECODE_STEPS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/tokenizer/decoder.h"
#include "runtime/tokenizer/pre_tokenizer.h"
#include "runtime/tokenizer/split.h"

namespace hexlane::tokenizer {

// GPT-2's alphabet back to bytes; a token with another character stands for its own bytes.
class ByteLevelStep final : public DecodeStep {
 public:
  explicit ByteLevelStep(bool streaming) : streaming_(streaming) {}
  void Push(std::string token, std::vector<std::string>& out) override;
  void Finish(std::vector<std::string>& out) override;

 private:
  bool streaming_;
  std::string bytes_;
};

// <0x..> tokens back to bytes. A run of them that is not UTF-8 becomes one U+FFFD for each byte;
// when streaming, only what is left of the run after its whole characters does.
class ByteFallbackStep final : public DecodeStep {
 public:
  explicit ByteFallbackStep(bool streaming) : streaming_(streaming) {}
  void Push(std::string token, std::vector<std::string>& out) override;
  void Finish(std::vector<std::string>& out) override;

 private:
  void EmitCharacters(std::vector<std::string>& out);
  bool streaming_;
  std::string run_;
};

// Everything as one token, at the end.
class CollectStep : public DecodeStep {
 public:
  void Push(std::string token, std::vector<std::string>&) override { text_ += token; }
  void Finish(std::vector<std::string>& out) override { out.push_back(std::move(text_)); }

 private:
  std::string text_;
};

class ReplaceStep final : public DecodeStep {
 public:
  ReplaceStep(const Pattern& pattern, std::string_view content)
      : pattern_(pattern), content_(content) {}
  void Push(std::string token, std::vector<std::string>& out) override {
    out.push_back(pattern_.ReplaceAll(token, content_));
  }

 private:
  const Pattern& pattern_;
  std::string_view content_;
};

struct StripOptions {
  std::string content;  // one character
  size_t start = 0;     // at most so many are taken away at the start
  size_t stop = 0;      // and at the end
};

// Of each token.
class StripTokenStep final : public DecodeStep {
 public:
  explicit StripTokenStep(const StripOptions& options) : options_(options) {}
  void Push(std::string token, std::vector<std::string>& out) override;

 private:
  const StripOptions& options_;
};

// Of the joined text, as it comes.
class StripTextStep final : public DecodeStep {
 public:
  explicit StripTextStep(const StripOptions& options)
      : options_(options), start_left_(options.start) {}
  void Push(std::string token, std::vector<std::string>& out) override;

 private:
  const StripOptions& options_;
  size_t start_left_;
  size_t held_ = 0;  // characters at the end that Finish would strip
};

class MetaspaceStep final : public DecodeStep {
 public:
  MetaspaceStep(const MetaspaceOptions& options, bool joined);
  void Push(std::string token, std::vector<std::string>& out) override;

 private:
  std::string replacement_;
  bool drops_first_;  // replacements of the first token
  bool joined_;
};

// end_of_word_suffix: a space between words, nothing after the last.
class SuffixStep final : public DecodeStep {
 public:
  explicit SuffixStep(const std::string& suffix) : suffix_(suffix) {}
  void Push(std::string token, std::vector<std::string>& out) override;
  void Finish(std::vector<std::string>& out) override;

 private:
  std::string Replaced(std::string_view token, std::string_view by) const;
  const std::string& suffix_;
  std::optional<std::string> last_;
};

class JoinWithSpacesStep final : public DecodeStep {
 public:
  void Push(std::string token, std::vector<std::string>& out) override;

 private:
  bool first_ = true;
};

}  // namespace hexlane::tokenizer

#endif  // HEXLANE_RUNTIME_TOKENIZER_DECODE_STEPS_H_
