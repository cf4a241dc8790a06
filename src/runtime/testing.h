// A package of the null backend with a tokenizer of 32 tokens, for the runtime's tests. The model
// counts: after token id comes id + 1.
#ifndef HEXLANE_RUNTIME_TESTING_H_
#define HEXLANE_RUNTIME_TESTING_H_

#include "base/json.h"
#include "hexlane/engine.h"
#include "package/testing.h"

namespace hexlane::testing {

// Ids 0..2 are <s>, <pad>, </s> (special); 3..28 are a..z; 29 "ab", 30 and 31 the two bytes of "é".
inline std::string TinyTokenizer() {
  Json vocab = {{"<s>", 0}, {"<pad>", 1}, {"</s>", 2}, {"ab", 29}, {"Ã", 30}, {"©", 31}};
  for (char c = 'a'; c <= 'z'; ++c) vocab[std::string(1, c)] = c - 'a' + 3;
  Json added = Json::array();
  for (int id = 0; id < 3; ++id) {
    added.push_back({{"id", id},
                     {"content", std::vector{"<s>", "<pad>", "</s>"}[static_cast<size_t>(id)]},
                     {"single_word", false},
                     {"lstrip", false},
                     {"rstrip", false},
                     {"normalized", false},
                     {"special", true}});
  }
  const Json byte_level = {{"type", "ByteLevel"},
                           {"add_prefix_space", false},
                           {"trim_offsets", true},
                           {"use_regex", true}};
  return Json({{"version", "1.0"},
               {"truncation", nullptr},
               {"padding", nullptr},
               {"added_tokens", added},
               {"normalizer", nullptr},
               {"pre_tokenizer", byte_level},
               {"post_processor", nullptr},
               {"decoder", byte_level},
               {"model",
                {{"type", "BPE"},
                 {"dropout", nullptr},
                 {"unk_token", nullptr},
                 {"continuing_subword_prefix", nullptr},
                 {"end_of_word_suffix", nullptr},
                 {"fuse_unk", false},
                 {"byte_fallback", false},
                 {"vocab", vocab},
                 {"merges", Json::array({"a b"})}}}})
      .dump();
}

inline constexpr std::string_view kTinyTemplate =
    "{% for m in messages %}{{ m.role }}{{ m.content }}{% endfor %}"
    "{% if add_generation_prompt %}a{% endif %}";

// Writes `manifest` with its null file and the tokenizer.
inline Result<void> WriteTinyPackage(const std::filesystem::path& path, const Manifest& manifest) {
  PackageWriter writer = TRY(PackageWriter::Create(path));
  TRY(writer.AddText("null/model.null", "nothing\n"));
  TRY(writer.AddText("tokenizer.json", TinyTokenizer()));
  TRY(writer.AddText(
      "tokenizer_config.json",
      Json({{"bos_token", "<s>"}, {"eos_token", "</s>"}, {"chat_template", kTinyTemplate}})
          .dump()));
  return writer.Finish(manifest);
}

}  // namespace hexlane::testing

#endif  // HEXLANE_RUNTIME_TESTING_H_
