// "normalizer" of tokenizer.json: rewrites the text before it is cut.
#ifndef HEXLANE_RUNTIME_TOKENIZER_NORMALIZER_H_
#define HEXLANE_RUNTIME_TOKENIZER_NORMALIZER_H_

#include <memory>
#include <string>
#include <string_view>

#include "base/json.h"
#include "hexlane/status.h"

namespace hexlane::tokenizer {

struct NormalizedText {
  std::string text;  // valid UTF-8
  bool at_start =
      false;  // its first character comes from the beginning of what was given to Encode
};

// Immutable; safe to share between threads.
class Normalizer {
 public:
  virtual ~Normalizer() = default;
  virtual void Apply(NormalizedText& text) const = 0;
  virtual double MaxGrowth() const { return 1; }  // of the number of bytes
};

// kUnsupported naming the type or field that is not handled.
Result<std::unique_ptr<Normalizer>> MakeNormalizer(const Json& json, std::string_view where);

}  // namespace hexlane::tokenizer

#endif  // HEXLANE_RUNTIME_TOKENIZER_NORMALIZER_H_
