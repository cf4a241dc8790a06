// Generated tokens to text that may be shown: whole UTF-8, and nothing of a stop string.
#ifndef HEXLANE_RUNTIME_TEXT_STREAM_H_
#define HEXLANE_RUNTIME_TEXT_STREAM_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/sample/stop_strings.h"
#include "runtime/tokenizer/tokenizer.h"

namespace hexlane {

class TextStream {
 public:
  // Without a tokenizer all text is empty.
  TextStream(const Tokenizer* tokenizer, std::vector<std::string> stop);

  // The text that is certain after this token; valid until the next call.
  std::string_view Push(int32_t id);
  // What was held back, when generation ends without a stop string.
  std::string_view Finish();
  bool stopped() const { return stop_.stopped(); }

 private:
  std::optional<StreamDecoder> decoder_;
  StopMatcher stop_;
  std::string text_;
};

}  // namespace hexlane

#endif  // HEXLANE_RUNTIME_TEXT_STREAM_H_
