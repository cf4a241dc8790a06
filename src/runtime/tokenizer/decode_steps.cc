#include "runtime/tokenizer/decode_steps.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "runtime/tokenizer/byte_level.h"
#include "runtime/tokenizer/utf8.h"

namespace hexlane::tokenizer {
namespace {

std::optional<char> ByteToken(std::string_view token) {  // <0x0A>
  if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>') return std::nullopt;
  uint8_t byte = 0;
  const auto [end, error] = std::from_chars(token.data() + 3, token.data() + 5, byte, 16);
  if (error != std::errc() || end != token.data() + 5) return std::nullopt;
  return static_cast<char>(byte);
}

void EmitReplacements(size_t count, std::vector<std::string>& out) {
  for (size_t i = 0; i < count; ++i) out.emplace_back(kReplacementCharacter);
}

std::string Repeat(std::string_view text, size_t count) {
  std::string out;
  for (size_t i = 0; i < count; ++i) out += text;
  return out;
}

// How many times `text` begins with `unit`, at most `limit`.
size_t CountAtStart(std::string_view text, std::string_view unit, size_t limit) {
  size_t count = 0;
  for (; count < limit && text.starts_with(unit); ++count) text.remove_prefix(unit.size());
  return count;
}

size_t CountAtEnd(std::string_view text, std::string_view unit, size_t limit) {
  size_t count = 0;
  for (; count < limit && text.ends_with(unit); ++count) text.remove_suffix(unit.size());
  return count;
}

}  // namespace

void ByteLevelStep::Push(std::string token, std::vector<std::string>& out) {
  bytes_ += FromByteLevel(token).value_or(token);
  if (!streaming_) return;
  const size_t whole = bytes_.size() - CutTail(bytes_);
  out.push_back(ReplaceInvalidUtf8(std::string_view(bytes_).substr(0, whole)));
  bytes_.erase(0, whole);
}

void ByteLevelStep::Finish(std::vector<std::string>& out) {
  out.push_back(ReplaceInvalidUtf8(std::exchange(bytes_, "")));
}

void ByteFallbackStep::Push(std::string token, std::vector<std::string>& out) {
  if (const auto byte = ByteToken(token)) {
    run_ += *byte;
    if (streaming_) EmitCharacters(out);
  } else {
    Finish(out);
    out.push_back(std::move(token));
  }
}

void ByteFallbackStep::EmitCharacters(std::vector<std::string>& out) {
  while (!run_.empty()) {
    const Utf8Char c = DecodeUtf8(run_, 0);
    if (c.cut) return;
    if (c.valid) {
      out.push_back(run_.substr(0, c.size));
    } else {
      EmitReplacements(c.size, out);
    }
    run_.erase(0, c.size);
  }
}

void ByteFallbackStep::Finish(std::vector<std::string>& out) {
  if (run_.empty()) return;
  if (IsUtf8(run_)) {
    out.push_back(run_);
  } else {
    EmitReplacements(run_.size(), out);
  }
  run_.clear();
}

void StripTokenStep::Push(std::string token, std::vector<std::string>& out) {
  const size_t unit = options_.content.size();
  const size_t start = CountAtStart(token, options_.content, options_.start) * unit;
  const size_t stop = CountAtEnd(token, options_.content, options_.stop) * unit;
  const size_t end = std::max(start, token.size() - stop);
  out.push_back(token.substr(start, end - start));
}

void StripTextStep::Push(std::string token, std::vector<std::string>& out) {
  if (token.empty()) return;
  const size_t unit = options_.content.size();
  const size_t start = CountAtStart(token, options_.content, start_left_);
  start_left_ = start * unit == token.size() ? start_left_ - start : 0;
  std::string text = Repeat(options_.content, held_) + token.substr(start * unit);
  held_ = CountAtEnd(text, options_.content, options_.stop);
  text.resize(text.size() - held_ * unit);
  out.push_back(std::move(text));
}

MetaspaceStep::MetaspaceStep(const MetaspaceOptions& options, bool joined)
    : replacement_(ToUtf8(options.replacement)),
      drops_first_(options.prepend != MetaspaceOptions::Prepend::kNever),
      joined_(joined) {}

void MetaspaceStep::Push(std::string token, std::vector<std::string>& out) {
  std::string text;
  std::string_view rest = token;
  for (size_t at = rest.find(replacement_); at != rest.npos; at = rest.find(replacement_)) {
    text += rest.substr(0, at);
    if (!drops_first_) text += ' ';
    rest.remove_prefix(at + replacement_.size());
  }
  text += rest;
  out.push_back(std::move(text));
  drops_first_ = drops_first_ && joined_;
}

void SuffixStep::Push(std::string token, std::vector<std::string>& out) {
  if (last_) out.push_back(Replaced(*last_, " "));
  last_ = std::move(token);
}

void SuffixStep::Finish(std::vector<std::string>& out) {
  if (last_) out.push_back(Replaced(*last_, ""));
  last_.reset();
}

std::string SuffixStep::Replaced(std::string_view token, std::string_view by) const {
  std::string text;
  for (size_t at = suffix_.empty() ? token.npos : token.find(suffix_); at != token.npos;
       at = token.find(suffix_)) {
    text += token.substr(0, at);
    text += by;
    token.remove_prefix(at + suffix_.size());
  }
  text += token;
  return text;
}

void JoinWithSpacesStep::Push(std::string token, std::vector<std::string>& out) {
  out.push_back(std::exchange(first_, false) ? std::move(token) : " " + token);
}

}  // namespace hexlane::tokenizer
