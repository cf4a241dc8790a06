// The tokenizer.* keys of a GGUF file.
#include "base/json.h"
#include "formats/byte_reader.h"
#include "formats/gguf/gguf_reader.h"
#include "formats/gguf/gguf_values.h"

namespace hexlane {
namespace {

class VocabularyReader {
 public:
  VocabularyReader(const GgufFile& file, std::span<const std::byte> bytes, std::string_view where)
      : file_(file), bytes_(bytes), where_(where) {}

  Result<GgufVocabulary> Run();

 private:
  // The elements of an array, each read by `read(reader)`; empty when the key is absent.
  template <typename T, typename ReadElement>
  Result<std::vector<T>> List(const std::string& key, GgufType type, ReadElement read);
  Result<std::vector<std::string>> Strings(const std::string& key);
  template <typename T>
  Result<std::vector<T>> Numbers(const std::string& key, GgufType type);
  template <typename T>
  Result<std::optional<T>> Optional(const std::string& key);
  template <typename T>
  Result<T> Required(const std::string& key);

  const GgufFile& file_;
  std::span<const std::byte> bytes_;
  std::string where_;
};

template <typename T, typename ReadElement>
Result<std::vector<T>> VocabularyReader::List(const std::string& key, GgufType type,
                                              ReadElement read) {
  std::vector<T> values;
  const auto it = file_.arrays.find(key);
  if (it == file_.arrays.end()) return values;
  ByteReader in(bytes_, where_);
  in.set_subject(fmt::format("key '{}'", key));
  if (it->second.type != static_cast<uint32_t>(type)) {
    return in.Bad("the array has the wrong element type", it->second.offset)
        .Want("{}", static_cast<uint32_t>(type))
        .Got("{}", it->second.type);
  }
  TRY(in.Skip(it->second.offset, "array"));
  values.reserve(it->second.count);  // ReadGguf has walked the array: it is all there
  for (uint64_t i = 0; i < it->second.count; ++i) values.emplace_back(TRY(read(in)));
  return values;
}

Result<std::vector<std::string>> VocabularyReader::Strings(const std::string& key) {
  return List<std::string>(key, GgufType::kString,
                           [](ByteReader& in) { return in.ReadString("string"); });
}

template <typename T>
Result<std::vector<T>> VocabularyReader::Numbers(const std::string& key, GgufType type) {
  return List<T>(key, type, [](ByteReader& in) { return in.Read<T>("number"); });
}

template <typename T>
Result<std::optional<T>> VocabularyReader::Optional(const std::string& key) {
  if (!file_.metadata.contains(key)) return std::optional<T>();
  return std::optional<T>(TRY(Required<T>(key)));
}

template <typename T>
Result<T> VocabularyReader::Required(const std::string& key) {
  const auto it = file_.offsets.find(key);
  const uint64_t offset = it == file_.offsets.end() ? 0 : it->second;
  return JsonField<T>(file_.metadata, key, fmt::format("{}: offset {}", where_, offset));
}

Result<GgufVocabulary> VocabularyReader::Run() {
  if (!file_.metadata.contains("tokenizer.ggml.model") ||
      !file_.arrays.contains("tokenizer.ggml.tokens")) {
    return NotFound("the file has no vocabulary")
        .At("{}: keys 'tokenizer.ggml.model', 'tokenizer.ggml.tokens'", where_)
        .Remedy("Convert the model to GGUF together with its tokenizer");
  }
  const std::string prefix = "tokenizer.ggml.";
  GgufVocabulary v;
  v.model = TRY(Required<std::string>(prefix + "model"));
  v.pre = TRY(Optional<std::string>(prefix + "pre")).value_or("");
  v.tokens = TRY(Strings(prefix + "tokens"));
  v.scores = TRY(Numbers<float>(prefix + "scores", GgufType::kF32));
  v.types = TRY(Numbers<int32_t>(prefix + "token_type", GgufType::kI32));
  v.merges = TRY(Strings(prefix + "merges"));
  v.bos_id = TRY(Optional<int64_t>(prefix + "bos_token_id"));
  v.eos_id = TRY(Optional<int64_t>(prefix + "eos_token_id"));
  v.unk_id = TRY(Optional<int64_t>(prefix + "unknown_token_id"));
  v.pad_id = TRY(Optional<int64_t>(prefix + "padding_token_id"));
  v.add_bos = TRY(Optional<bool>(prefix + "add_bos_token"));
  v.add_eos = TRY(Optional<bool>(prefix + "add_eos_token"));
  v.add_space_prefix = TRY(Optional<bool>(prefix + "add_space_prefix"));
  v.chat_template = TRY(Optional<std::string>("tokenizer.chat_template"));
  const auto architecture = TRY(Optional<std::string>("general.architecture"));
  if (architecture) v.context_length = TRY(Optional<int64_t>(*architecture + ".context_length"));
  return v;
}

}  // namespace

Result<GgufVocabulary> ReadGgufVocabulary(const GgufFile& file, std::span<const std::byte> bytes,
                                          std::string_view where) {
  return VocabularyReader(file, bytes, where).Run();
}

}  // namespace hexlane
