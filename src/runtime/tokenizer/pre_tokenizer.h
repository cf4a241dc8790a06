// "pre_tokenizer" of tokenizer.json: cuts a text into the words that the model sees one by one.
#ifndef HEXLANE_RUNTIME_TOKENIZER_PRE_TOKENIZER_H_
#define HEXLANE_RUNTIME_TOKENIZER_PRE_TOKENIZER_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "hexlane/status.h"
#include "runtime/tokenizer/regex.h"

namespace hexlane::tokenizer {

// A text and its words, in order. Words do not overlap; what no word covers has been dropped.
struct Words {
  std::string text;
  std::vector<Range> ranges;  // never empty ones
  bool first_is_at_start =
      false;  // the first word's first character is the first of what was given to Encode

  std::string_view Get(const Range& range) const {
    return std::string_view(text).substr(range.begin, range.end - range.begin);
  }
};

// Immutable; safe to share between threads.
class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;
  virtual void Apply(Words& words) const = 0;
  virtual double MaxGrowth() const { return 1; }  // of the number of bytes
};

// kUnsupported naming the type or field that is not handled.
Result<std::unique_ptr<PreTokenizer>> MakePreTokenizer(const Json& json, std::string_view where);

// What the Metaspace pre-tokenizer and the Metaspace decoder share.
struct MetaspaceOptions {
  enum class Prepend { kNever, kFirst, kAlways };
  char32_t replacement = 0x2581;
  Prepend prepend = Prepend::kAlways;
  bool split = true;
};
Result<MetaspaceOptions> MetaspaceFromJson(const Json& json, std::string_view where);

}  // namespace hexlane::tokenizer

#endif  // HEXLANE_RUNTIME_TOKENIZER_PRE_TOKENIZER_H_
