#include "runtime/tokenizer/decoder.h"

#include <array>
#include <utility>

#include "runtime/tokenizer/decode_steps.h"
#include "runtime/tokenizer/fields.h"
#include "runtime/tokenizer/utf8.h"

namespace hexlane::tokenizer {
namespace {

using MadeDecoder = Result<std::unique_ptr<Decoder>>;
using Steps = std::vector<std::unique_ptr<DecodeStep>>;

// For a step that must see whole tokens or the whole text: when the text comes in pieces, it waits
// for all of it, and from here on nothing streams.
void WaitForAll(DecodeMode& mode, Steps& steps) {
  if (!mode.streaming || !mode.joined) return;
  steps.push_back(std::make_unique<CollectStep>());
  mode.streaming = false;
}

class ByteLevelDecoder final : public Decoder {
 public:
  void Start(DecodeMode& mode, Steps& steps) const override {
    WaitForAll(mode, steps);
    steps.push_back(std::make_unique<ByteLevelStep>(mode.streaming));
    mode.joined = true;
  }
  double MaxGrowth() const override { return 3; }  // a bad byte becomes U+FFFD
};

class ByteFallbackDecoder final : public Decoder {
 public:
  void Start(DecodeMode& mode, Steps& steps) const override {
    WaitForAll(mode, steps);
    steps.push_back(std::make_unique<ByteFallbackStep>(mode.streaming));
  }
};

class FuseDecoder final : public Decoder {
 public:
  void Start(DecodeMode& mode, Steps& steps) const override {
    if (!mode.streaming) steps.push_back(std::make_unique<CollectStep>());
    mode.joined = true;
  }
};

class ReplaceDecoder final : public Decoder {
 public:
  ReplaceDecoder(Pattern pattern, std::string content)
      : pattern_(std::move(pattern)), content_(std::move(content)) {}
  void Start(DecodeMode& mode, Steps& steps) const override {
    if (!pattern_.IsOneCharacter()) WaitForAll(mode, steps);  // a match may span pieces
    steps.push_back(std::make_unique<ReplaceStep>(pattern_, content_));
  }
  double MaxGrowth() const override { return pattern_.MaxGrowth(content_); }

 private:
  Pattern pattern_;
  std::string content_;
};

class StripDecoder final : public Decoder {
 public:
  explicit StripDecoder(StripOptions options) : options_(std::move(options)) {}
  void Start(DecodeMode& mode, Steps& steps) const override {
    if (mode.streaming && mode.joined) {
      steps.push_back(std::make_unique<StripTextStep>(options_));
    } else {
      steps.push_back(std::make_unique<StripTokenStep>(options_));
    }
  }

 private:
  StripOptions options_;
};

class MetaspaceDecoder final : public Decoder {
 public:
  explicit MetaspaceDecoder(const MetaspaceOptions& options) : options_(options) {}
  void Start(DecodeMode& mode, Steps& steps) const override {
    steps.push_back(std::make_unique<MetaspaceStep>(options_, mode.joined));
  }

 private:
  MetaspaceOptions options_;
};

class SuffixDecoder final : public Decoder {
 public:
  explicit SuffixDecoder(std::string suffix) : suffix_(std::move(suffix)) {}
  void Start(DecodeMode& mode, Steps& steps) const override {
    WaitForAll(mode, steps);
    steps.push_back(std::make_unique<SuffixStep>(suffix_));
  }

 private:
  std::string suffix_;
};

class JoinWithSpaces final : public Decoder {
 public:
  void Start(DecodeMode& mode, Steps& steps) const override {
    steps.push_back(std::make_unique<JoinWithSpacesStep>());
    mode.joined = true;
  }
};

class SequenceDecoder final : public Decoder {
 public:
  explicit SequenceDecoder(std::vector<std::unique_ptr<Decoder>> decoders)
      : decoders_(std::move(decoders)) {}
  void Start(DecodeMode& mode, Steps& steps) const override {
    for (const auto& decoder : decoders_) decoder->Start(mode, steps);
  }
  double MaxGrowth() const override {
    double growth = 1;
    for (const auto& decoder : decoders_) growth *= decoder->MaxGrowth();
    return growth;
  }

 private:
  std::vector<std::unique_ptr<Decoder>> decoders_;
};

MadeDecoder MakeByteLevel(const Json& json, std::string_view where) {
  TRY(OnlyFields(json, {"type", "add_prefix_space", "trim_offsets", "use_regex"}, where));
  return std::make_unique<ByteLevelDecoder>();
}

MadeDecoder MakeByteFallback(const Json& json, std::string_view where) {
  TRY(OnlyFields(json, {"type"}, where));
  return std::make_unique<ByteFallbackDecoder>();
}

MadeDecoder MakeFuse(const Json& json, std::string_view where) {
  TRY(OnlyFields(json, {"type"}, where));
  return std::make_unique<FuseDecoder>();
}

MadeDecoder MakeReplace(const Json& json, std::string_view where) {
  TRY(OnlyFields(json, {"type", "pattern", "content"}, where));
  Pattern pattern = TRY(Pattern::FromJson(json, "pattern", where));
  std::string content = TRY(JsonField<std::string>(json, "content", where));
  return std::make_unique<ReplaceDecoder>(std::move(pattern), std::move(content));
}

MadeDecoder MakeStrip(const Json& json, std::string_view where) {
  TRY(OnlyFields(json, {"type", "content", "start", "stop"}, where));
  StripOptions options;
  options.content = ToUtf8(TRY(CharacterField(json, "content", where)));
  options.start = static_cast<size_t>(TRY(CountField(json, "start", 1 << 20, where)));
  options.stop = static_cast<size_t>(TRY(CountField(json, "stop", 1 << 20, where)));
  return std::make_unique<StripDecoder>(std::move(options));
}

MadeDecoder MakeMetaspace(const Json& json, std::string_view where) {
  return std::make_unique<MetaspaceDecoder>(TRY(MetaspaceFromJson(json, where)));
}

MadeDecoder MakeSuffix(const Json& json, std::string_view where) {
  TRY(OnlyFields(json, {"type", "suffix"}, where));
  return std::make_unique<SuffixDecoder>(
      TRY(JsonFieldOr<std::string>(json, "suffix", "</w>", where)));
}

MadeDecoder MakeSequence(const Json& json, std::string_view where) {
  TRY(OnlyFields(json, {"type", "decoders"}, where));
  std::vector<std::unique_ptr<Decoder>> decoders;
  for (const Json& step : *TRY(JsonArray(json, "decoders", where)))
    decoders.push_back(
        TRY(MakeDecoder(step, fmt::format("{}.decoders[{}]", where, decoders.size()))));
  return std::make_unique<SequenceDecoder>(std::move(decoders));
}

constexpr std::array<std::pair<std::string_view, MadeDecoder (*)(const Json&, std::string_view)>, 8>
    kTypes = {{{"ByteLevel", &MakeByteLevel},
               {"ByteFallback", &MakeByteFallback},
               {"Fuse", &MakeFuse},
               {"Replace", &MakeReplace},
               {"Strip", &MakeStrip},
               {"Metaspace", &MakeMetaspace},
               {"BPEDecoder", &MakeSuffix},
               {"Sequence", &MakeSequence}}};

}  // namespace

MadeDecoder MakeDecoder(const Json& json, std::string_view where) {
  if (json.is_null()) return std::make_unique<JoinWithSpaces>();
  const std::string type = TRY(JsonField<std::string>(json, "type", where));
  for (const auto& [name, make] : kTypes) {
    if (type != name) continue;
    auto decoder = TRY(make(json, where));
    TRY(CheckGrowth(decoder->MaxGrowth(), where));
    return decoder;
  }
  return UnsupportedType("decoder", type, where);
}

DecodeChain::DecodeChain(const Decoder& decoder, bool streaming) {
  DecodeMode mode{.streaming = streaming};
  decoder.Start(mode, steps_);
}

std::string DecodeChain::Push(std::string token) {
  std::vector<std::string> tokens;
  tokens.push_back(std::move(token));
  return RunFrom(0, std::move(tokens));
}

std::string DecodeChain::Finish() {
  std::string text;
  for (size_t i = 0; i < steps_.size(); ++i) {
    std::vector<std::string> rest;
    steps_[i]->Finish(rest);
    text += RunFrom(i + 1, std::move(rest));
  }
  return text;
}

std::string DecodeChain::RunFrom(size_t first, std::vector<std::string> tokens) {
  for (size_t i = first; i < steps_.size(); ++i) {
    std::vector<std::string> next;
    for (std::string& token : tokens) steps_[i]->Push(std::move(token), next);
    tokens = std::move(next);
  }
  std::string text;
  for (const std::string& token : tokens) text += token;
  return text;
}

}  // namespace hexlane::tokenizer
