#include "tokenizer.h"

#include <algorithm>

#include "base/file.h"

namespace hexlane::synthetic {
namespace {

constexpr const char* kSpecial[] = {"<unk>", "<s>", "</s>"};
constexpr int kBos = 1, kEos = 2;
constexpr int64_t kSmallestVocab = std::size(kSpecial) + 256;
constexpr std::string_view kSpace = "\xe2\x96\x81";  // ▁, U+2581
// By frequency in English (Norvig 2012, "English Letter Frequency Counts").
constexpr std::string_view kLetters = "etaoinsrhldcumfpgwybvkxjqz";

// A token that is a string of letters, perhaps with a space before, and how rare it is: the sum of
// its letters' ranks.
struct Word {
  std::string text;
  size_t rank = 0;
};

class VocabularyBuilder {
 public:
  explicit VocabularyBuilder(int64_t size) : size_(static_cast<size_t>(size)) {}

  void Run() {
    for (const char* token : kSpecial) Add(token);
    for (int byte = 0; byte < 256; ++byte) Add(fmt::format("<0x{:02X}>", byte));
    Add(std::string(kSpace));
    for (char c = '!'; c <= '~'; ++c) Add(std::string(1, c));
    std::vector<Word> words = {{std::string(kSpace), 0}};
    for (size_t i = 0; i < kLetters.size(); ++i) words.push_back({std::string(1, kLetters[i]), i});
    while (!IsFull()) words = AddLonger(words);
  }

  Json vocab = Json::object();
  Json merges = Json::array();

 private:
  bool IsFull() const { return vocab.size() >= size_; }

  void Add(const std::string& token) {
    if (!IsFull()) vocab[token] = vocab.size();
  }

  // Every word with one more letter; those that found room.
  std::vector<Word> AddLonger(const std::vector<Word>& words) {
    struct Candidate {
      size_t rank, parent, letter;
      auto operator<=>(const Candidate&) const = default;
    };
    std::vector<Candidate> candidates;
    for (size_t parent = 0; parent < words.size(); ++parent)
      for (size_t i = 0; i < kLetters.size(); ++i)
        candidates.push_back({words[parent].rank + i, parent, i});
    std::sort(candidates.begin(), candidates.end());
    std::vector<Word> longer;
    for (const Candidate& c : candidates) {
      if (IsFull()) break;
      const std::string& parent = words[c.parent].text;
      longer.push_back({parent + kLetters[c.letter], c.rank});
      Add(longer.back().text);
      merges.push_back(parent + " " + kLetters[c.letter]);
    }
    return longer;
  }

  size_t size_;
};

Json AddedTokens() {
  Json tokens = Json::array();
  for (size_t id = 0; id < std::size(kSpecial); ++id) {
    tokens.push_back({{"id", id},
                      {"content", kSpecial[id]},
                      {"single_word", false},
                      {"lstrip", false},
                      {"rstrip", false},
                      {"normalized", false},
                      {"special", true}});
  }
  return tokens;
}

// As tokenizers writes LLaMA's.
Json TokenizerJson(Json vocab, Json merges) {
  const Json space = {{"String", kSpace}};
  const Json bos = {{"SpecialToken", {{"id", kSpecial[kBos]}, {"type_id", 0}}}};
  const auto sequence = [](const char* id, int type) {
    return Json{{"Sequence", {{"id", id}, {"type_id", type}}}};
  };
  const Json normalizers = {
      {{"type", "Prepend"}, {"prepend", kSpace}},
      {{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", kSpace}}};
  const Json decoders = {{{"type", "Replace"}, {"pattern", space}, {"content", " "}},
                         {{"type", "ByteFallback"}},
                         {{"type", "Fuse"}},
                         {{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}}};
  const Json bos_entry = {{"id", kSpecial[kBos]}, {"ids", {kBos}}, {"tokens", {kSpecial[kBos]}}};
  const Json post = {{"type", "TemplateProcessing"},
                     {"single", {bos, sequence("A", 0)}},
                     {"pair", {bos, sequence("A", 0), bos, sequence("B", 1)}},
                     {"special_tokens", {{kSpecial[kBos], bos_entry}}}};
  const Json model = {{"type", "BPE"},
                      {"dropout", nullptr},
                      {"unk_token", kSpecial[0]},
                      {"continuing_subword_prefix", nullptr},
                      {"end_of_word_suffix", nullptr},
                      {"fuse_unk", true},
                      {"byte_fallback", true},
                      {"vocab", std::move(vocab)},
                      {"merges", std::move(merges)}};
  return {{"version", "1.0"},
          {"truncation", nullptr},
          {"padding", nullptr},
          {"added_tokens", AddedTokens()},
          {"normalizer", {{"type", "Sequence"}, {"normalizers", normalizers}}},
          {"pre_tokenizer", nullptr},
          {"post_processor", post},
          {"decoder", {{"type", "Sequence"}, {"decoders", decoders}}},
          {"model", model}};
}

// The id of a special token as tokenizer_config.json names it: text, or an object with "content".
OrderedJson IdOf(const Json& token, const Json& added_tokens) {
  const Json content = token.is_object() ? token.value("content", Json()) : token;
  for (const Json& added : added_tokens)
    if (content.is_string() && added.value("content", Json()) == content) return added["id"];
  return nullptr;
}

}  // namespace

Result<TokenizerTexts> MakeTokenizer(const ModelShape& shape) {
  if (shape.vocab < kSmallestVocab) {
    return Usage("a vocabulary of {}", shape.vocab)
        .Want("at least {}: every byte is a token", kSmallestVocab)
        .Remedy("Give a smaller tokenizer.json with --tokenizer");
  }
  VocabularyBuilder builder(shape.vocab);
  builder.Run();
  const Json config = {{"tokenizer_class", "LlamaTokenizer"},
                       {"add_bos_token", true},
                       {"add_eos_token", false},
                       {"unk_token", kSpecial[0]},
                       {"bos_token", kSpecial[kBos]},
                       {"eos_token", kSpecial[kEos]},
                       {"clean_up_tokenization_spaces", false},
                       {"model_max_length", shape.max_context}};
  return TokenizerTexts{TokenizerJson(std::move(builder.vocab), std::move(builder.merges)).dump(),
                        config.dump(2), kBos, kEos};
}

Result<TokenizerTexts> CopyTokenizer(const std::filesystem::path& path, const ModelShape& shape) {
  TokenizerTexts texts;
  texts.tokenizer_json = TRY(ReadTextFile(path));
  const Json json = TRY(ParseJson(texts.tokenizer_json, path.string()));
  const Json* model = TRY(JsonObject(json, "model", path.string()));
  const Json* vocab = TRY(JsonObject(*model, "vocab", path.string()));
  const Json* added = TRY(JsonArray(json, "added_tokens", path.string()));
  int64_t largest = -1;
  const std::string where = path.string() + ": vocab";
  for (const auto& [token, id] : vocab->items())
    largest = std::max(largest, TRY(JsonField<int64_t>(*vocab, token, where)));
  for (const Json& token : *added)
    largest = std::max(largest, TRY(JsonField<int64_t>(token, "id", path.string())));
  if (largest >= shape.vocab) {
    return Usage("the tokenizer has a token {}", largest)
        .At("{}", path.string())
        .Want("ids below {}", shape.vocab)
        .Remedy("Give a larger --vocab");
  }
  const std::filesystem::path config_path = path.parent_path() / "tokenizer_config.json";
  texts.config_json = "{}";
  if (std::filesystem::exists(config_path)) texts.config_json = TRY(ReadTextFile(config_path));
  const Json config = TRY(ParseJson(texts.config_json, config_path.string()));
  if (!config.is_object()) return Corrupt("not a JSON object").At("{}", config_path.string());
  texts.bos_id = IdOf(config.value("bos_token", Json()), *added);
  texts.eos_id = IdOf(config.value("eos_token", Json()), *added);
  return texts;
}

}  // namespace hexlane::synthetic
