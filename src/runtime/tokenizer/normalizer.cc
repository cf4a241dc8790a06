#include "runtime/tokenizer/normalizer.h"

#include <array>
#include <utility>
#include <vector>

#include "runtime/tokenizer/byte_level.h"
#include "runtime/tokenizer/fields.h"
#include "runtime/tokenizer/split.h"
#include "runtime/tokenizer/unicode.h"
#include "runtime/tokenizer/utf8.h"

namespace hexlane::tokenizer {
namespace {

using MadeNormalizer = Result<std::unique_ptr<Normalizer>>;

class Form final : public Normalizer {
 public:
  explicit Form(NormalForm form) : form_(form) {}
  void Apply(NormalizedText& text) const override {
    text.text = NormalizeUnicode(text.text, form_);
  }
  double MaxGrowth() const override { return 12; }  // U+FDFA in NFKD: 3 bytes to 33

 private:
  NormalForm form_;
};

class Lowercase final : public Normalizer {
 public:
  void Apply(NormalizedText& text) const override { text.text = ToLower(text.text); }
  double MaxGrowth() const override { return 2; }
};

class StripAccents final : public Normalizer {
 public:
  void Apply(NormalizedText& text) const override {
    std::string kept;
    for (size_t i = 0; i < text.text.size();) {
      const Utf8Char c = DecodeUtf8(text.text, i);
      const bool drop = IsMark(c.code_point);
      if (drop && i == 0) text.at_start = false;
      if (!drop) kept.append(text.text, i, c.size);
      i += c.size;
    }
    text.text = std::move(kept);
  }
};

class Strip final : public Normalizer {
 public:
  Strip(bool left, bool right) : left_(left), right_(right) {}
  void Apply(NormalizedText& text) const override {
    size_t begin = 0;
    size_t end = text.text.size();
    while (left_ && begin < end && IsWhitespace(DecodeUtf8(text.text, begin).code_point))
      begin += DecodeUtf8(text.text, begin).size;
    while (right_ && end > begin && IsWhitespace(DecodeUtf8Before(text.text, end).code_point))
      end -= DecodeUtf8Before(text.text, end).size;
    if (begin > 0) text.at_start = false;
    text.text = text.text.substr(begin, end - begin);
  }

 private:
  bool left_;
  bool right_;
};

class Prepend final : public Normalizer {
 public:
  explicit Prepend(std::string prefix) : prefix_(std::move(prefix)) {}
  void Apply(NormalizedText& text) const override {
    if (!text.text.empty()) text.text.insert(0, prefix_);
  }

 private:
  std::string prefix_;
};

class Replace final : public Normalizer {
 public:
  Replace(Pattern pattern, std::string content)
      : pattern_(std::move(pattern)), content_(std::move(content)) {}
  void Apply(NormalizedText& text) const override {
    if (content_.empty() && text.at_start) {
      const std::vector<Range> matches = pattern_.FindAll(text.text);
      if (!matches.empty() && matches[0].begin == 0 && matches[0].end > 0) text.at_start = false;
    }
    text.text = pattern_.ReplaceAll(text.text, content_);
  }
  double MaxGrowth() const override { return pattern_.MaxGrowth(content_); }

 private:
  Pattern pattern_;
  std::string content_;
};

class ByteLevel final : public Normalizer {
 public:
  void Apply(NormalizedText& text) const override {
    std::string mapped;
    AppendByteLevel(text.text, mapped);
    text.text = std::move(mapped);
  }
  double MaxGrowth() const override { return 2; }
};

class Sequence final : public Normalizer {
 public:
  explicit Sequence(std::vector<std::unique_ptr<Normalizer>> steps) : steps_(std::move(steps)) {}
  void Apply(NormalizedText& text) const override {
    for (const auto& step : steps_) step->Apply(text);
  }
  double MaxGrowth() const override {
    double growth = 1;
    for (const auto& step : steps_) growth *= step->MaxGrowth();
    return growth;
  }

 private:
  std::vector<std::unique_ptr<Normalizer>> steps_;
};

template <typename T, auto... kArguments>
MadeNormalizer Make(const Json& json, std::string_view where) {
  TRY(OnlyFields(json, {"type"}, where));
  return std::make_unique<T>(kArguments...);
}

MadeNormalizer MakeStrip(const Json& json, std::string_view where) {
  TRY(OnlyFields(json, {"type", "strip_left", "strip_right"}, where));
  const bool left = TRY(JsonFieldOr<bool>(json, "strip_left", true, where));
  const bool right = TRY(JsonFieldOr<bool>(json, "strip_right", true, where));
  return std::make_unique<Strip>(left, right);
}

MadeNormalizer MakePrepend(const Json& json, std::string_view where) {
  TRY(OnlyFields(json, {"type", "prepend"}, where));
  std::string prefix = TRY(JsonField<std::string>(json, "prepend", where));
  TRY(CheckAffix(prefix, where));
  return std::make_unique<Prepend>(std::move(prefix));
}

MadeNormalizer MakeReplace(const Json& json, std::string_view where) {
  TRY(OnlyFields(json, {"type", "pattern", "content"}, where));
  Pattern pattern = TRY(Pattern::FromJson(json, "pattern", where));
  std::string content = TRY(JsonField<std::string>(json, "content", where));
  return std::make_unique<Replace>(std::move(pattern), std::move(content));
}

MadeNormalizer MakeSequence(const Json& json, std::string_view where) {
  TRY(OnlyFields(json, {"type", "normalizers"}, where));
  std::vector<std::unique_ptr<Normalizer>> steps;
  for (const Json& step : *TRY(JsonArray(json, "normalizers", where)))
    steps.push_back(
        TRY(MakeNormalizer(step, fmt::format("{}.normalizers[{}]", where, steps.size()))));
  return std::make_unique<Sequence>(std::move(steps));
}

constexpr std::array<std::pair<std::string_view, MadeNormalizer (*)(const Json&, std::string_view)>,
                     11>
    kTypes = {{{"NFC", &Make<Form, NormalForm::kNfc>},
               {"NFD", &Make<Form, NormalForm::kNfd>},
               {"NFKC", &Make<Form, NormalForm::kNfkc>},
               {"NFKD", &Make<Form, NormalForm::kNfkd>},
               {"Lowercase", &Make<Lowercase>},
               {"StripAccents", &Make<StripAccents>},
               {"ByteLevel", &Make<ByteLevel>},
               {"Strip", &MakeStrip},
               {"Prepend", &MakePrepend},
               {"Replace", &MakeReplace},
               {"Sequence", &MakeSequence}}};

}  // namespace

MadeNormalizer MakeNormalizer(const Json& json, std::string_view where) {
  const std::string type = TRY(JsonField<std::string>(json, "type", where));
  for (const auto& [name, make] : kTypes) {
    if (type != name) continue;
    auto normalizer = TRY(make(json, where));
    TRY(CheckGrowth(normalizer->MaxGrowth(), where));
    return normalizer;
  }
  return UnsupportedType("normalizer", type, where);
}

}  // namespace hexlane::tokenizer
