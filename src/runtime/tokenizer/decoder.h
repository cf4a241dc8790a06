// "decoder" of tokenizer.json: token texts become text again, all at once or as they come.
#ifndef HEXLANE_RUNTIME_TOKENIZER_DECODER_H_
#define HEXLANE_RUNTIME_TOKENIZER_DECODER_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "hexlane/status.h"

namespace hexlane::tokenizer {

// One run through a decoder: token texts in, pieces of text out. Not shared between threads.
class DecodeStep {
 public:
  virtual ~DecodeStep() = default;
  // Appends what is certain after `token` to `out`; every element is whole UTF-8.
  virtual void Push(std::string token, std::vector<std::string>& out) = 0;
  // Appends the rest.
  virtual void Finish(std::vector<std::string>&) {}
};

struct DecodeMode {
  bool streaming =
      false;            // emit early; otherwise exactly as Hugging Face's decode of the whole list
  bool joined = false;  // tokens have been fused: the pieces are parts of one text
};

// Immutable; safe to share between threads.
class Decoder {
 public:
  virtual ~Decoder() = default;
  // Appends the steps of one run to `steps`, updating `mode` for those that follow. The steps refer
  // to this decoder.
  virtual void Start(DecodeMode& mode, std::vector<std::unique_ptr<DecodeStep>>& steps) const = 0;
  virtual double MaxGrowth() const { return 1; }  // of the number of bytes
};

// A null `json` joins tokens with spaces. kUnsupported naming the type or field that is not
// handled.
Result<std::unique_ptr<Decoder>> MakeDecoder(const Json& json, std::string_view where);

// The steps of one run in a row.
class DecodeChain {
 public:
  DecodeChain(const Decoder& decoder, bool streaming);
  std::string Push(std::string token);
  std::string Finish();

 private:
  std::string RunFrom(size_t first, std::vector<std::string> tokens);
  std::vector<std::unique_ptr<DecodeStep>> steps_;
};

}  // namespace hexlane::tokenizer

#endif  // HEXLANE_RUNTIME_TOKENIZER_DECODER_H_
