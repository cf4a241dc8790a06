#include "runtime/text_stream.h"

namespace hexlane {

TextStream::TextStream(const Tokenizer* tokenizer, std::vector<std::string> stop)
    : stop_(std::move(stop)) {
  if (tokenizer != nullptr) decoder_.emplace(*tokenizer);
}

std::string_view TextStream::Push(int32_t id) {
  if (!decoder_) return {};
  text_ = stop_.Push(decoder_->Push(id));
  return text_;
}

std::string_view TextStream::Finish() {
  if (!decoder_ || stopped()) return {};
  text_ = stop_.Push(decoder_->Finish());
  if (!stopped()) text_ += stop_.Finish();
  return text_;
}

}  // namespace hexlane
