#include "runtime/tokenizer/pre_tokenizer.h"

#include <array>
#include <functional>
#include <optional>
#include <utility>

#include "runtime/tokenizer/byte_level.h"
#include "runtime/tokenizer/fields.h"
#include "runtime/tokenizer/split.h"
#include "runtime/tokenizer/unicode.h"
#include "runtime/tokenizer/utf8.h"

namespace hexlane::tokenizer {
namespace {

using MadePreTokenizer = Result<std::unique_ptr<PreTokenizer>>;

// Replaces each word by the parts of it that `cut` returns (offsets within the word).
void CutEach(Words& words, const std::function<std::vector<Range>(std::string_view)>& cut) {
  std::vector<Range> parts;
  parts.reserve(words.ranges.size());
  const bool was_at_start = std::exchange(words.first_is_at_start, false);
  for (size_t i = 0; i < words.ranges.size(); ++i) {
    const Range word = words.ranges[i];
    for (const Range& part : cut(words.Get(word))) {
      if (part.begin == part.end) continue;
      if (i == 0 && part.begin == 0) words.first_is_at_start = was_at_start;
      parts.push_back({word.begin + part.begin, word.begin + part.end});
    }
  }
  words.ranges = std::move(parts);
}

// Replaces the text of each word by what `rewrite` appends.
void RewriteEach(
    Words& words,
    const std::function<void(std::string_view word, bool first, std::string& out)>& rewrite) {
  std::string text;
  text.reserve(2 * words.text.size());
  for (size_t i = 0; i < words.ranges.size(); ++i) {
    const size_t begin = text.size();
    rewrite(words.Get(words.ranges[i]), i == 0, text);
    words.ranges[i] = {begin, text.size()};
  }
  words.text = std::move(text);
}

class ByteLevel final : public PreTokenizer {
 public:
  ByteLevel(bool add_prefix_space, std::optional<Regex> regex)
      : add_prefix_space_(add_prefix_space), regex_(std::move(regex)) {}

  void Apply(Words& words) const override {
    if (add_prefix_space_) {
      RewriteEach(words, [](std::string_view word, bool, std::string& out) {
        if (!word.starts_with(' ')) out += ' ';
        out += word;
      });
    }
    if (regex_) {
      CutEach(words, [&](std::string_view word) {
        return ApplyBehavior(Segments(word.size(), regex_->FindAll(word)),
                             SplitBehavior::kIsolated);
      });
    }
    RewriteEach(words,
                [](std::string_view word, bool, std::string& out) { AppendByteLevel(word, out); });
  }

  double MaxGrowth() const override { return add_prefix_space_ ? 4 : 2; }

 private:
  bool add_prefix_space_;
  std::optional<Regex> regex_;
};

class Split final : public PreTokenizer {
 public:
  Split(Pattern pattern, SplitBehavior behavior, bool invert)
      : pattern_(std::move(pattern)), behavior_(behavior), invert_(invert) {}

  void Apply(Words& words) const override {
    CutEach(words, [&](std::string_view word) {
      return ApplyBehavior(Segments(word.size(), pattern_.FindAll(word), invert_), behavior_);
    });
  }

 private:
  Pattern pattern_;
  SplitBehavior behavior_;
  bool invert_;
};

class SplitCharacters final : public PreTokenizer {
 public:
  SplitCharacters(std::function<bool(char32_t)> is_match, SplitBehavior behavior)
      : is_match_(std::move(is_match)), behavior_(behavior) {}

  void Apply(Words& words) const override {
    CutEach(words, [&](std::string_view word) {
      return ApplyBehavior(SegmentsByCharacter(word, is_match_), behavior_);
    });
  }

 private:
  std::function<bool(char32_t)> is_match_;
  SplitBehavior behavior_;
};

// Runs of \w, and runs of what is neither \w nor white space.
class Whitespace final : public PreTokenizer {
 public:
  void Apply(Words& words) const override {
    CutEach(words, [](std::string_view word) {
      std::vector<Range> runs;
      int last = 0;
      for (size_t i = 0; i < word.size();) {
        const Utf8Char c = DecodeUtf8(word, i);
        const int kind = IsWord(c.code_point) ? 1 : IsWhitespace(c.code_point) ? 0 : 2;
        if (kind != 0 && kind == last) {
          runs.back().end = i + c.size;
        } else if (kind != 0) {
          runs.push_back({i, i + c.size});
        }
        last = kind;
        i += c.size;
      }
      return runs;
    });
  }
};

class Metaspace final : public PreTokenizer {
 public:
  explicit Metaspace(const MetaspaceOptions& options)
      : options_(options), replacement_(ToUtf8(options.replacement)) {}

  void Apply(Words& words) const override {
    RewriteEach(words, [&](std::string_view word, bool first, std::string& out) {
      const bool prepend = options_.prepend == MetaspaceOptions::Prepend::kAlways ||
                           (options_.prepend == MetaspaceOptions::Prepend::kFirst && first &&
                            words.first_is_at_start);
      if (prepend && !word.starts_with(' ') && !word.starts_with(replacement_)) out += replacement_;
      for (const char c : word) c == ' ' ? void(out += replacement_) : void(out += c);
    });
    if (!options_.split) return;
    CutEach(words, [&](std::string_view word) {
      const auto is_match = [&](char32_t c) { return c == options_.replacement; };
      return ApplyBehavior(SegmentsByCharacter(word, is_match), SplitBehavior::kMergedWithNext);
    });
  }

  double MaxGrowth() const override { return 2.0 * static_cast<double>(replacement_.size()); }

 private:
  MetaspaceOptions options_;
  std::string replacement_;
};

class Sequence final : public PreTokenizer {
 public:
  explicit Sequence(std::vector<std::unique_ptr<PreTokenizer>> steps) : steps_(std::move(steps)) {}
  void Apply(Words& words) const override {
    for (const auto& step : steps_) step->Apply(words);
  }
  double MaxGrowth() const override {
    double growth = 1;
    for (const auto& step : steps_) growth *= step->MaxGrowth();
    return growth;
  }

 private:
  std::vector<std::unique_ptr<PreTokenizer>> steps_;
};

MadePreTokenizer MakeByteLevel(const Json& json, std::string_view where) {
  TRY(OnlyFields(json, {"type", "add_prefix_space", "trim_offsets", "use_regex"}, where));
  const bool add_prefix_space = TRY(JsonFieldOr<bool>(json, "add_prefix_space", true, where));
  std::optional<Regex> regex;
  if (TRY(JsonFieldOr<bool>(json, "use_regex", true, where)))
    regex = TRY(Regex::Compile(kByteLevelRegex, where));
  return std::make_unique<ByteLevel>(add_prefix_space, std::move(regex));
}

MadePreTokenizer MakeSplit(const Json& json, std::string_view where) {
  TRY(OnlyFields(json, {"type", "pattern", "behavior", "invert"}, where));
  Pattern pattern = TRY(Pattern::FromJson(json, "pattern", where));
  const SplitBehavior behavior = TRY(SplitBehaviorFromJson(json, "behavior", where));
  const bool invert = TRY(JsonFieldOr<bool>(json, "invert", false, where));
  return std::make_unique<Split>(std::move(pattern), behavior, invert);
}

MadePreTokenizer MakeDigits(const Json& json, std::string_view where) {
  TRY(OnlyFields(json, {"type", "individual_digits"}, where));
  const bool individual = TRY(JsonFieldOr<bool>(json, "individual_digits", false, where));
  return std::make_unique<SplitCharacters>(
      &IsNumeric, individual ? SplitBehavior::kIsolated : SplitBehavior::kContiguous);
}

MadePreTokenizer MakePunctuation(const Json& json, std::string_view where) {
  TRY(OnlyFields(json, {"type", "behavior"}, where));
  SplitBehavior behavior = SplitBehavior::kIsolated;
  if (json.contains("behavior")) behavior = TRY(SplitBehaviorFromJson(json, "behavior", where));
  return std::make_unique<SplitCharacters>(&IsPunctuation, behavior);
}

MadePreTokenizer MakeWhitespace(const Json& json, std::string_view where) {
  TRY(OnlyFields(json, {"type"}, where));
  return std::make_unique<Whitespace>();
}

MadePreTokenizer MakeWhitespaceSplit(const Json& json, std::string_view where) {
  TRY(OnlyFields(json, {"type"}, where));
  return std::make_unique<SplitCharacters>(&IsWhitespace, SplitBehavior::kRemoved);
}

MadePreTokenizer MakeBert(const Json& json, std::string_view where) {
  TRY(OnlyFields(json, {"type"}, where));
  std::vector<std::unique_ptr<PreTokenizer>> steps;
  steps.push_back(std::make_unique<SplitCharacters>(&IsWhitespace, SplitBehavior::kRemoved));
  steps.push_back(std::make_unique<SplitCharacters>(&IsPunctuation, SplitBehavior::kIsolated));
  return std::make_unique<Sequence>(std::move(steps));
}

MadePreTokenizer MakeDelimiter(const Json& json, std::string_view where) {
  TRY(OnlyFields(json, {"type", "delimiter"}, where));
  const char32_t delimiter = TRY(CharacterField(json, "delimiter", where));
  return std::make_unique<SplitCharacters>([delimiter](char32_t c) { return c == delimiter; },
                                           SplitBehavior::kRemoved);
}

MadePreTokenizer MakeMetaspace(const Json& json, std::string_view where) {
  return std::make_unique<Metaspace>(TRY(MetaspaceFromJson(json, where)));
}

MadePreTokenizer MakeSequence(const Json& json, std::string_view where) {
  TRY(OnlyFields(json, {"type", "pretokenizers"}, where));
  std::vector<std::unique_ptr<PreTokenizer>> steps;
  for (const Json& step : *TRY(JsonArray(json, "pretokenizers", where)))
    steps.push_back(
        TRY(MakePreTokenizer(step, fmt::format("{}.pretokenizers[{}]", where, steps.size()))));
  return std::make_unique<Sequence>(std::move(steps));
}

constexpr std::array<
    std::pair<std::string_view, MadePreTokenizer (*)(const Json&, std::string_view)>, 10>
    kTypes = {{{"ByteLevel", &MakeByteLevel},
               {"Split", &MakeSplit},
               {"Digits", &MakeDigits},
               {"Punctuation", &MakePunctuation},
               {"Whitespace", &MakeWhitespace},
               {"WhitespaceSplit", &MakeWhitespaceSplit},
               {"BertPreTokenizer", &MakeBert},
               {"CharDelimiterSplit", &MakeDelimiter},
               {"Metaspace", &MakeMetaspace},
               {"Sequence", &MakeSequence}}};

}  // namespace

Result<MetaspaceOptions> MetaspaceFromJson(const Json& json, std::string_view where) {
  using Prepend = MetaspaceOptions::Prepend;
  TRY(OnlyFields(json,
                 {"type", "replacement", "add_prefix_space", "prepend_scheme", "split", "str_rep"},
                 where));
  MetaspaceOptions options;
  options.replacement = TRY(CharacterField(json, "replacement", where));
  options.split = TRY(JsonFieldOr<bool>(json, "split", true, where));
  const bool add_prefix_space = TRY(JsonFieldOr<bool>(json, "add_prefix_space", true, where));
  const std::string fallback = add_prefix_space ? "always" : "never";
  const std::string scheme = TRY(JsonFieldOr<std::string>(json, "prepend_scheme", fallback, where));
  if (scheme == "always") {
    options.prepend = Prepend::kAlways;
  } else if (scheme == "first") {
    options.prepend = Prepend::kFirst;
  } else if (scheme == "never") {
    options.prepend = Prepend::kNever;
  } else {
    return UnsupportedType("prepend_scheme", scheme, where);
  }
  if (!add_prefix_space && options.prepend != Prepend::kNever)
    return Corrupt("add_prefix_space contradicts prepend_scheme '{}'", scheme).At("{}", where);
  return options;
}

MadePreTokenizer MakePreTokenizer(const Json& json, std::string_view where) {
  const std::string type = TRY(JsonField<std::string>(json, "type", where));
  for (const auto& [name, make] : kTypes) {
    if (type != name) continue;
    auto pre_tokenizer = TRY(make(json, where));
    TRY(CheckGrowth(pre_tokenizer->MaxGrowth(), where));
    return pre_tokenizer;
  }
  return UnsupportedType("pre-tokenizer", type, where);
}

}  // namespace hexlane::tokenizer
