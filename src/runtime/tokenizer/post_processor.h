// "post_processor" of tokenizer.json: the special tokens around an encoded text.
#ifndef HEXLANE_RUNTIME_TOKENIZER_POST_PROCESSOR_H_
#define HEXLANE_RUNTIME_TOKENIZER_POST_PROCESSOR_H_

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "hexlane/status.h"

namespace hexlane::tokenizer {

// All post-processors are, for one text, a list of ids before and after it. Immutable.
class PostProcessor {
 public:
  // kUnsupported naming the type or field that is not handled.
  static Result<PostProcessor> FromJson(const Json& json, std::string_view where);

  // Puts exactly `ids` before / after the text instead.
  void SetBefore(std::vector<int32_t> ids) { before_ = std::move(ids); }
  void SetAfter(std::vector<int32_t> ids) { after_ = std::move(ids); }

  const std::vector<int32_t>& before() const { return before_; }
  const std::vector<int32_t>& after() const { return after_; }

 private:
  Result<void> Add(const Json& json, std::string_view where);
  Result<void> AddTemplate(const Json& json, std::string_view where);
  Result<void> AddClassifier(const Json& json, std::string_view where);
  Result<void> AddSequence(const Json& json, std::string_view where);

  std::vector<int32_t> before_;
  std::vector<int32_t> after_;
};

}  // namespace hexlane::tokenizer

#endif  // HEXLANE_RUNTIME_TOKENIZER_POST_PROCESSOR_H_
