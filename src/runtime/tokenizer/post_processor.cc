#include "runtime/tokenizer/post_processor.h"

#include <string>

#include "runtime/tokenizer/fields.h"
#include "runtime/tokenizer/vocabulary.h"

namespace hexlane::tokenizer {
namespace {

Result<int32_t> TokenId(const Json& json, std::string_view where) {
  if (!json.is_number_integer() || json.get<int64_t>() < 0 || json.get<int64_t>() > kMaxTokenId)
    return Corrupt("bad token id").At("{}", where).Want("0 to {}", kMaxTokenId);
  return json.get<int32_t>();
}

// The ids that special_tokens[name] stands for.
Result<std::vector<int32_t>> SpecialIds(const Json& specials, const std::string& name,
                                        std::string_view where) {
  const std::string here = fmt::format("{}.special_tokens['{}']", where, name);
  const Json& entry = *TRY(JsonObject(specials, name, fmt::format("{}.special_tokens", where)));
  TRY(OnlyFields(entry, {"id", "ids", "tokens"}, here));
  std::vector<int32_t> ids;
  for (const Json& id : *TRY(JsonArray(entry, "ids", here)))
    ids.push_back(TRY(TokenId(id, here + ".ids")));
  return ids;
}

// ["token", id]
Result<int32_t> Pair(const Json& json, std::string_view key, std::string_view where) {
  const Json& pair = *TRY(JsonArray(json, key, where));
  const std::string here = fmt::format("{}.{}", where, key);
  if (pair.size() != 2) return Corrupt("not a pair of token and id").At("{}", here);
  return TokenId(pair[1], here);
}

}  // namespace

Result<PostProcessor> PostProcessor::FromJson(const Json& json, std::string_view where) {
  PostProcessor processor;
  TRY(processor.Add(json, where));
  return processor;
}

Result<void> PostProcessor::Add(const Json& json, std::string_view where) {
  const std::string type = TRY(JsonField<std::string>(json, "type", where));
  if (type == "TemplateProcessing") return AddTemplate(json, where);
  if (type == "Sequence") return AddSequence(json, where);
  if (type == "RobertaProcessing" || type == "BertProcessing") return AddClassifier(json, where);
  if (type == "ByteLevel")
    return OnlyFields(json, {"type", "add_prefix_space", "trim_offsets", "use_regex"}, where);
  return UnsupportedType("post-processor", type, where);
}

Result<void> PostProcessor::AddSequence(const Json& json, std::string_view where) {
  TRY(OnlyFields(json, {"type", "processors"}, where));
  size_t index = 0;
  for (const Json& step : *TRY(JsonArray(json, "processors", where)))
    TRY(Add(step, fmt::format("{}.processors[{}]", where, index++)));
  return {};
}

Result<void> PostProcessor::AddTemplate(const Json& json, std::string_view where) {
  TRY(OnlyFields(json, {"type", "single", "pair", "special_tokens"}, where));
  const Json& specials = *TRY(JsonObject(json, "special_tokens", where));
  std::vector<int32_t> before;
  std::vector<int32_t> after;
  size_t texts = 0;
  for (const Json& piece : *TRY(JsonArray(json, "single", where))) {
    const std::string here = fmt::format("{}.single", where);
    TRY(OnlyFields(piece, {"Sequence", "SpecialToken"}, here));
    if (piece.contains("Sequence")) {
      ++texts;
    } else {
      const Json& token = *TRY(JsonObject(piece, "SpecialToken", here));
      const std::string name = TRY(JsonField<std::string>(token, "id", here));
      const std::vector<int32_t> ids = TRY(SpecialIds(specials, name, where));
      auto& side = texts == 0 ? before : after;
      side.insert(side.end(), ids.begin(), ids.end());
    }
  }
  if (texts != 1)
    return Unsupported("template with {} texts is not supported", texts)
        .At("{}.single", where)
        .Want("one");
  before_.insert(before_.begin(), before.begin(), before.end());
  after_.insert(after_.end(), after.begin(), after.end());
  return {};
}

// [CLS] text [SEP]
Result<void> PostProcessor::AddClassifier(const Json& json, std::string_view where) {
  TRY(OnlyFields(json, {"type", "sep", "cls", "trim_offsets", "add_prefix_space"}, where));
  before_.insert(before_.begin(), TRY(Pair(json, "cls", where)));
  after_.push_back(TRY(Pair(json, "sep", where)));
  return {};
}

}  // namespace hexlane::tokenizer
