#include "runtime/tokenizer/tokenizer_json.h"

#include <utility>

namespace hexlane::tokenizer {
namespace {

constexpr size_t kMaxBytes = size_t{1} << 30;  // arena offsets are 32 bit

class Handler final : public nlohmann::json_sax<Json> {
 public:
  Handler(TokenizerJson& out, std::string_view where) : out_(out), where_(where) {
    error_ = Result<void>(Corrupt("not valid JSON").At("{}", where)).error();
  }

  const Error& error() const { return error_; }

  bool null() override { return Value(nullptr); }
  bool boolean(bool value) override { return Value(value); }
  bool number_integer(int64_t value) override { return Integer(value); }
  bool number_unsigned(uint64_t value) override {
    return value <= uint64_t{INT64_MAX} ? Integer(static_cast<int64_t>(value)) : Value(value);
  }
  bool number_float(double value, const std::string&) override { return Value(value); }
  bool binary(Json::binary_t&) override { return false; }

  bool string(std::string& value) override {
    switch (mode_) {
      case Mode::kMerges: return MergeText(value);
      case Mode::kPair: return MergePart(value);
      default: return Value(std::move(value));
    }
  }

  bool key(std::string& value) override {
    if (mode_ == Mode::kVocab) {
      const auto offset = static_cast<uint32_t>(out_.vocab_arena.size());
      out_.vocab_arena += value;
      out_.vocab.push_back({offset, static_cast<uint32_t>(value.size()), 0});
    } else {
      key_ = std::move(value);
    }
    return true;
  }

  bool start_object(size_t) override {
    if (mode_ == Mode::kDom && InModel() && key_ == "vocab") {
      out_.has_vocab = true;
      mode_ = Mode::kVocab;
      return true;
    }
    return Open(Json::object());
  }

  bool end_object() override {
    if (mode_ == Mode::kVocab) return mode_ = Mode::kDom, true;
    return Close();
  }

  bool start_array(size_t) override {
    if (mode_ == Mode::kDom && InModel() && key_ == "merges") {
      out_.has_merges = true;
      mode_ = Mode::kMerges;
      return true;
    }
    if (mode_ == Mode::kMerges) {
      mode_ = Mode::kPair;
      parts_ = 0;
      const auto offset = static_cast<uint32_t>(out_.merge_arena.size());
      out_.merges.push_back({offset, 0, 0});
      return true;
    }
    return Open(Json::array());
  }

  bool end_array() override {
    if (mode_ == Mode::kPair) {
      mode_ = Mode::kMerges;
      return parts_ == 2 || BadMerge();
    }
    if (mode_ == Mode::kMerges) return mode_ = Mode::kDom, true;
    return Close();
  }

  bool parse_error(size_t position, const std::string&, const Json::exception& error) override {
    return Fail(
        Corrupt("not valid JSON").At("{}: offset {}", where_, position).Got("{}", error.what()));
  }

 private:
  enum class Mode { kDom, kVocab, kMerges, kPair };

  bool Fail(Failure failure) {
    error_ = Result<void>(std::move(failure)).error();
    return false;
  }
  bool BadMerge() {
    return Fail(Corrupt("bad merge")
                    .At("{}: model.merges[{}]", where_, out_.merges.size() - 1)
                    .Want("two token texts"));
  }

  bool InModel() const { return open_.size() == 2 && in_model_; }

  bool Integer(int64_t value) {
    if (mode_ != Mode::kVocab) return Value(value);
    out_.vocab.back().id = value;
    return true;
  }

  bool Value(Json value) {
    if (mode_ == Mode::kVocab)
      return Fail(Corrupt("bad token id")
                      .At("{}: model.vocab, entry {}", where_, out_.vocab.size() - 1)
                      .Want("an integer"));
    if (mode_ != Mode::kDom) return BadMerge();
    Place(std::move(value));
    return true;
  }

  bool MergeText(std::string_view text) {
    if (text.starts_with("#version")) return true;
    const size_t space = text.find(' ');
    const auto offset = static_cast<uint32_t>(out_.merge_arena.size());
    out_.merges.push_back({offset, static_cast<uint32_t>(space), 0});
    if (space == text.npos || text.find(' ', space + 1) != text.npos) return BadMerge();
    out_.merges.back().right_size = static_cast<uint32_t>(text.size() - space - 1);
    out_.merge_arena += text.substr(0, space);
    out_.merge_arena += text.substr(space + 1);
    return true;
  }

  bool MergePart(std::string_view text) {
    if (parts_ == 2) return BadMerge();
    MergeEntry& entry = out_.merges.back();
    (parts_++ == 0 ? entry.left_size : entry.right_size) = static_cast<uint32_t>(text.size());
    out_.merge_arena += text;
    return true;
  }

  Json* Place(Json value) {
    if (open_.empty()) return &(out_.root = std::move(value));
    Json& parent = *open_.back();
    if (!parent.is_array()) return &(parent[key_] = std::move(value));
    parent.push_back(std::move(value));
    return &parent.back();
  }

  bool Open(Json container) {
    if (mode_ == Mode::kVocab || mode_ == Mode::kPair || mode_ == Mode::kMerges)
      return Value(nullptr);
    if (open_.size() >= static_cast<size_t>(kMaxJsonDepth))
      return Fail(
          Corrupt("JSON nests too deep").At("{}", where_).Want("at most {} levels", kMaxJsonDepth));
    if (open_.size() == 1)
      in_model_ = key_ == "model" && open_[0]->is_object() && container.is_object();
    open_.push_back(Place(std::move(container)));
    return true;
  }

  bool Close() {
    open_.pop_back();
    return true;
  }

  TokenizerJson& out_;
  std::string_view where_;
  Error error_;
  std::vector<Json*> open_;  // the containers around the current value; ancestors never move
  std::string key_;
  bool in_model_ = false;
  Mode mode_ = Mode::kDom;
  int parts_ = 0;
};

}  // namespace

Result<TokenizerJson> ParseTokenizerJson(std::string_view text, std::string_view where) {
  if (text.size() > kMaxBytes)
    return Unsupported("tokenizer too large").At("{}", where).Want("at most {} bytes", kMaxBytes);
  TokenizerJson out;
  Handler handler(out, where);
  if (!Json::sax_parse(text.begin(), text.end(), &handler)) return Failure(handler.error());
  if (!out.root.is_object()) return Corrupt("not a JSON object").At("{}", where);
  return out;
}

}  // namespace hexlane::tokenizer
