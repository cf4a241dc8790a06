#include "runtime/text_stream.h"

namespace hexlane {

TextStream::TextStream(const Tokenizer* tokenizer, std::span<const std::string> stop)
    : stop_(stop) {
  if (tokenizer != nullptr) decoder_.emplace(*tokenizer);
}

std::string_view TextStream::Push(int32_t id) {
  text_.clear();
  if (decoder_) stop_.Push(decoder_->Push(id), text_);
  return text_;
}

std::string_view TextStream::Finish() {
  text_.clear();
  if (!decoder_ || stopped()) return text_;
  stop_.Push(decoder_->Finish(), text_);
  if (!stopped()) stop_.Finish(text_);
  return text_;
}

}  // namespace hexlane
