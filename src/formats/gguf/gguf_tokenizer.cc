#include "formats/gguf/gguf_tokenizer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <unordered_map>
#include <utility>

#include "base/json.h"
#include "formats/gguf/gguf_pre_rows.h"

namespace hexlane {
namespace {

constexpr size_t kMaxSpmTokenBytes = 512;  // bounds the search for merges; real ones have below 100

class Converter {
 public:
  Converter(const GgufVocabulary& vocabulary, std::string_view where)
      : in_(vocabulary), where_(where), spm_(vocabulary.model == "llama") {}

  Result<TokenizerFiles> Run() {
    TRY(Check());
    TRY(ChoosePre());
    TRY(IndexTokens());
    OrderedJson steps = TRY(Steps());
    std::string model = TRY(Model());
    std::string text = steps.dump();
    text.pop_back();  // the closing brace: the model goes in as text
    return TokenizerFiles{text + ",\"model\":" + model + "}", TRY(Config())};
  }

 private:
  Result<void> Check();
  Result<void> ChoosePre();
  Result<void> IndexTokens();
  Result<OrderedJson> Steps() const;
  OrderedJson AddedTokens() const;
  OrderedJson Template() const;
  Result<std::string> Model() const;
  std::string SpmMerges() const;
  std::string GivenMerges() const;
  Result<std::string> Config() const;

  struct SpmMerge {
    std::string_view left;
    std::string_view right;
    float score = 0;
  };
  void AddSpmMerges(size_t id, std::vector<SpmMerge>& merges) const;

  std::optional<int64_t> IdOr(std::optional<int64_t> id, int64_t spm_fallback) const {
    return id || !spm_ ? id : std::optional(spm_fallback);
  }
  std::optional<int64_t> bos() const { return IdOr(in_.bos_id, 1); }
  std::optional<int64_t> eos() const { return IdOr(in_.eos_id, 2); }
  std::optional<int64_t> unk() const { return IdOr(in_.unk_id, 0); }
  bool add_bos() const { return in_.add_bos.value_or(spm_ || pre_.add_bos); }
  bool add_eos() const { return in_.add_eos.value_or(false); }
  const std::string& Text(int64_t id) const { return in_.tokens[static_cast<size_t>(id)]; }
  GgufTokenType Type(size_t id) const {
    return in_.types.empty() ? GgufTokenType::kNormal : static_cast<GgufTokenType>(in_.types[id]);
  }
  bool IsSpecial(size_t id) const {
    const auto type = Type(id);
    const auto number = static_cast<int64_t>(id);
    const bool named = in_.types.empty() && (bos() == number || eos() == number || unk() == number);
    return type == GgufTokenType::kControl || (spm_ && type == GgufTokenType::kUnknown) || named;
  }

  const GgufVocabulary& in_;
  std::string_view where_;
  bool spm_;
  GgufPreRow pre_;
  std::vector<std::string> quoted_;                       // tokens as JSON strings
  std::unordered_map<std::string_view, size_t> by_text_;  // ids
};

Result<void> Converter::Check() {
  const auto key = [&](std::string_view name) {
    return fmt::format("{}: key 'tokenizer.ggml.{}'", where_, name);
  };
  if (in_.model != "gpt2" && !spm_) {
    return Unsupported("tokenizer model '{}' is not supported", in_.model)
        .At("{}", key("model"))
        .Want("gpt2 or llama");
  }
  const size_t count = in_.tokens.size();
  if (count == 0) return Corrupt("empty vocabulary").At("{}", key("tokens"));
  if (!in_.types.empty() && in_.types.size() != count)
    return Corrupt("wrong length")
        .At("{}", key("token_type"))
        .Want("{}", count)
        .Got("{}", in_.types.size());
  if (spm_ && in_.scores.size() != count)
    return Corrupt("wrong length")
        .At("{}", key("scores"))
        .Want("{}", count)
        .Got("{}", in_.scores.size());
  if (std::any_of(in_.scores.begin(), in_.scores.end(),
                  [](float score) { return std::isnan(score); }))
    return Corrupt("a score is not a number").At("{}", key("scores"));
  const std::array<std::pair<std::string_view, std::optional<int64_t>>, 4> ids = {
      {{"bos_token_id", bos()},
       {"eos_token_id", eos()},
       {"unknown_token_id", unk()},
       {"padding_token_id", in_.pad_id}}};
  for (const auto& [name, id] : ids) {
    if (id && (*id < 0 || *id >= static_cast<int64_t>(count)))
      return Corrupt("token id outside the vocabulary")
          .At("{}", key(name))
          .Want("below {}", count)
          .Got("{}", *id);
  }
  return {};
}

Result<void> Converter::ChoosePre() {
  const auto* row =
      std::find_if(kGgufPreRows.begin(), kGgufPreRows.end(),
                   [&](const GgufPreRow& candidate) { return candidate.name == in_.pre; });
  if (!spm_ && row == kGgufPreRows.end()) {
    return Unsupported("pre-tokenizer '{}' is not supported", in_.pre)
        .At("{}: key 'tokenizer.ggml.pre'", where_)
        .Want("smollm, llama-bpe, qwen2, gpt-2 or default")
        .Remedy(
            "Use the Hugging Face folder of the model, whose tokenizer.json says how text is cut");
  }
  if (!spm_) pre_ = *row;
  if ((add_bos() && !bos()) || (add_eos() && !eos()))
    return Corrupt("add_bos_token or add_eos_token without the token's id").At("{}", where_);
  return {};
}

Result<void> Converter::IndexTokens() {
  quoted_.reserve(in_.tokens.size());
  by_text_.reserve(in_.tokens.size());
  for (size_t id = 0; id < in_.tokens.size(); ++id) {
    const std::string& text = in_.tokens[id];
    const auto at = [&] {
      return fmt::format("{}: key 'tokenizer.ggml.tokens', entry {}", where_, id);
    };
    if (spm_ && text.size() > kMaxSpmTokenBytes)
      return Unsupported("token too long")
          .At("{}", at())
          .Want("at most {} bytes", kMaxSpmTokenBytes);
    if (!by_text_.emplace(text, id).second)
      return Corrupt("token '{}' occurs twice", text).At("{}", at());
    try {
      quoted_.push_back(Json(text).dump());
    } catch (const Json::type_error&) {
      return Corrupt("token is not UTF-8").At("{}", at());
    }
  }
  return {};
}

OrderedJson Converter::AddedTokens() const {
  OrderedJson added = OrderedJson::array();
  for (size_t id = 0; id < in_.tokens.size(); ++id) {
    const bool special = IsSpecial(id);
    if (!special && Type(id) != GgufTokenType::kUserDefined) continue;
    added.push_back({{"id", id},
                     {"content", in_.tokens[id]},
                     {"single_word", false},
                     {"lstrip", false},
                     {"rstrip", false},
                     {"normalized", false},
                     {"special", special}});
  }
  return added;
}

// [BOS] text [EOS], as far as they are wanted.
OrderedJson Converter::Template() const {
  if (!add_bos() && !add_eos()) return nullptr;
  OrderedJson single = OrderedJson::array();
  OrderedJson specials = OrderedJson::object();
  const auto add = [&](int64_t id) {
    const std::string& text = Text(id);
    single.push_back({{"SpecialToken", {{"id", text}, {"type_id", 0}}}});
    specials[text] = {
        {"id", text}, {"ids", OrderedJson::array({id})}, {"tokens", OrderedJson::array({text})}};
  };
  if (add_bos()) add(*bos());
  single.push_back({{"Sequence", {{"id", "A"}, {"type_id", 0}}}});
  if (add_eos()) add(*eos());
  return {{"type", "TemplateProcessing"},
          {"single", single},
          {"pair", OrderedJson::array()},
          {"special_tokens", specials}};
}

// Everything but the model.
Result<OrderedJson> Converter::Steps() const {
  OrderedJson json = {{"version", "1.0"}, {"truncation", nullptr}, {"padding", nullptr}};
  json["added_tokens"] = AddedTokens();
  if (!spm_) {
    json["normalizer"] = OrderedJson::parse(pre_.normalizer);
    json["pre_tokenizer"] = OrderedJson::parse(pre_.pre_tokenizer);
    json["post_processor"] = Template();
    json["decoder"] = OrderedJson::parse(
        R"({"type":"ByteLevel","add_prefix_space":true,"trim_offsets":true,"use_regex":true})");
    return json;
  }
  const bool prefix = in_.add_space_prefix.value_or(true);
  OrderedJson normalizers = OrderedJson::parse(
      R"([{"type":"Prepend","prepend":"▁"},{"type":"Replace","pattern":{"String":" "},"content":"▁"}])");
  OrderedJson decoders = OrderedJson::parse(
      R"([{"type":"Replace","pattern":{"String":"▁"},"content":" "},{"type":"ByteFallback"},)"
      R"({"type":"Fuse"},{"type":"Strip","content":" ","start":1,"stop":0}])");
  if (!prefix) normalizers.erase(0), decoders.erase(3);
  json["normalizer"] = {{"type", "Sequence"}, {"normalizers", normalizers}};
  json["pre_tokenizer"] = nullptr;
  json["post_processor"] = Template();
  json["decoder"] = {{"type", "Sequence"}, {"decoders", decoders}};
  return json;
}

Result<std::string> Converter::Model() const {
  OrderedJson head = {{"type", "BPE"}, {"dropout", nullptr}};
  head["unk_token"] = spm_ ? OrderedJson(Text(*unk())) : OrderedJson();
  head["continuing_subword_prefix"] = nullptr;
  head["end_of_word_suffix"] = nullptr;
  head["fuse_unk"] = spm_;
  head["byte_fallback"] = spm_;
  head["ignore_merges"] = pre_.ignore_merges;
  std::string text = head.dump();
  text.pop_back();
  text += ",\"vocab\":{";
  for (size_t id = 0; id < quoted_.size(); ++id)
    text += fmt::format("{}{}:{}", id > 0 ? "," : "", quoted_[id], id);
  text += "},\"merges\":[";
  try {
    text += spm_ ? SpmMerges() : GivenMerges();
  } catch (const Json::type_error&) {
    return Corrupt("a merge is not UTF-8").At("{}: key 'tokenizer.ggml.merges'", where_);
  }
  return text + "]}";
}

std::string Converter::GivenMerges() const {
  std::string text;
  for (const std::string& merge : in_.merges) {
    if (!text.empty()) text += ',';
    text += Json(merge).dump();
  }
  return text;
}

// Every way to make a token of two others, the token with the highest score first; of one token, by
// the ids of its parts. It is how Hugging Face's converter made llama2's merges.
std::string Converter::SpmMerges() const {
  std::vector<SpmMerge> merges;
  for (size_t id = 0; id < in_.tokens.size(); ++id) {
    const GgufTokenType type = Type(id);
    if (type == GgufTokenType::kNormal || type == GgufTokenType::kUserDefined)
      AddSpmMerges(id, merges);
  }
  std::vector<size_t> order(merges.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return merges[a].score != merges[b].score ? merges[a].score > merges[b].score : a < b;
  });
  std::string text;
  for (const size_t i : order) {
    text += fmt::format("{}[{},{}]", text.empty() ? "" : ",", quoted_[by_text_.at(merges[i].left)],
                        quoted_[by_text_.at(merges[i].right)]);
  }
  return text;
}

void Converter::AddSpmMerges(size_t id, std::vector<SpmMerge>& merges) const {
  const std::string_view text = in_.tokens[id];
  const size_t first = merges.size();
  for (size_t cut = 1; cut < text.size(); ++cut) {
    if ((static_cast<uint8_t>(text[cut]) & 0xC0) == 0x80) continue;  // inside a character
    const SpmMerge merge{text.substr(0, cut), text.substr(cut), in_.scores[id]};
    if (by_text_.contains(merge.left) && by_text_.contains(merge.right)) merges.push_back(merge);
  }
  std::sort(merges.begin() + static_cast<ptrdiff_t>(first), merges.end(),
            [&](const auto& a, const auto& b) {
              return by_text_.at(a.left) <
                     by_text_.at(b.left);  // parts of one token: no two have the same left
            });
}

Result<std::string> Converter::Config() const {
  OrderedJson json = {{"tokenizer_class", "PreTrainedTokenizerFast"}};
  const auto put = [&](std::string_view key, std::optional<int64_t> id) {
    if (id) json[std::string(key)] = Text(*id);
  };
  put("bos_token", bos());
  put("eos_token", eos());
  put("pad_token", in_.pad_id);
  if (spm_) put("unk_token", unk());
  json["add_bos_token"] = add_bos();
  json["add_eos_token"] = add_eos();
  if (in_.chat_template) json["chat_template"] = *in_.chat_template;
  if (in_.context_length) json["model_max_length"] = *in_.context_length;
  json["clean_up_tokenization_spaces"] = false;
  try {
    return json.dump(1);
  } catch (const OrderedJson::type_error&) {
    return Corrupt("the chat template is not UTF-8")
        .At("{}: key 'tokenizer.chat_template'", where_);
  }
}

}  // namespace

Result<TokenizerFiles> TokenizerFromGguf(const GgufVocabulary& vocabulary, std::string_view where) {
  return Converter(vocabulary, where).Run();
}

}  // namespace hexlane
