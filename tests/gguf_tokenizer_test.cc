// Vocabularies of GGUF files through the runtime's tokenizer: the same ids as Hugging Face.
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/json.h"
#include "formats/checkpoint.h"
#include "formats/gguf/gguf_tokenizer.h"
#include "runtime/tokenizer/tokenizer.h"

namespace hexlane {
namespace {

const std::string kData = HEXLANE_TEST_DATA;
const std::string kAssets = kData + "/../../.assets/";

Json ReadJson(const std::string& path) {
  auto text = ReadTextFile(path);
  EXPECT_TRUE(text) << text.error().ToString() << "; run tools/setup.sh";
  return text ? *ParseJson(*text, path) : Json::object();
}

void ExpectGoldenCases(const Tokenizer& tokenizer, const std::string& name) {
  const Json file = ReadJson(kData + "/tokenizers/" + name + ".json");
  ASSERT_FALSE(file["cases"].empty());
  using Ids = std::vector<int32_t>;
  for (const Json& c : file["cases"]) {
    SCOPED_TRACE(c["name"].get<std::string>());
    const auto text = c["text"].get<std::string>();
    const auto ids = c["ids"].get<Ids>();
    const auto with_special = c["ids_with_special"].get<Ids>();
    EXPECT_EQ(tokenizer.Encode(text, {.add_special_tokens = false}), ids);
    EXPECT_EQ(tokenizer.Encode(text), with_special);
    EXPECT_EQ(tokenizer.Encode(text, {.add_special_tokens = false, .parse_special = false}),
              c.value("ids_special_tokens_as_plain_text", ids));
    EXPECT_EQ(tokenizer.Decode(ids), c["decoded"].get<std::string>());
    EXPECT_EQ(tokenizer.Decode(with_special, true), c["decoded_skip_special"].get<std::string>());
  }
  for (const Json& c : file["streaming"]) {
    SCOPED_TRACE(c["name"].get<std::string>());
    StreamDecoder decoder(tokenizer, false);
    std::vector<std::string> pieces;
    for (const int32_t id : c["ids"].get<Ids>()) pieces.push_back(decoder.Push(id));
    EXPECT_EQ(pieces, c["pieces"].get<std::vector<std::string>>());
  }
}

TEST(GgufTokenizer, SmolLm2EqualsHuggingFace) {
  const auto checkpoint = Checkpoint::Open(kAssets + "SmolLM2-135M-Instruct.Q4_1.gguf");
  ASSERT_TRUE(checkpoint) << checkpoint.error().ToString() << "; run tools/setup.sh";
  const auto files = (*checkpoint)->tokenizer_files();
  ASSERT_TRUE(files) << files.error().ToString();
  const auto tokenizer = Tokenizer::FromJson(files->tokenizer_json, files->tokenizer_config_json);
  ASSERT_TRUE(tokenizer) << tokenizer.error().ToString();
  ExpectGoldenCases(**tokenizer, "smollm2");
  EXPECT_EQ((*tokenizer)->vocab_size(), 49152);
  EXPECT_EQ((*tokenizer)->bos_id(), 1);
  EXPECT_EQ((*tokenizer)->eos_token(), "<|im_end|>");
  EXPECT_EQ((*tokenizer)->chat_template(),
            ReadJson(kData + "/chat/smollm2.json")["chat_template"].get<std::string>());
}

// llama2's vocabulary as a GGUF file has it. SentencePiece's scores are minus the order of
// learning; runs of spaces, added by hand, come last.
GgufVocabulary Llama2Vocabulary(const Json& tokenizer_json) {
  GgufVocabulary v{.model = "llama", .pre = "", .tokens = std::vector<std::string>(32000)};
  for (const auto& [text, id] : tokenizer_json["model"]["vocab"].items())
    v.tokens[id.get<size_t>()] = text;
  for (size_t id = 0; id < v.tokens.size(); ++id) {
    const bool spaces =
        v.tokens[id].size() > 3 && v.tokens[id].find_first_not_of("▁") == std::string::npos;
    const bool byte = id >= 3 && id < 259;
    v.scores.push_back(id < 259 ? 0.0f : spaces ? -1e9f : 260.0f - static_cast<float>(id));
    v.types.push_back(id == 0 ? 2 : id < 3 ? 3 : byte ? 6 : 1);
  }
  return v;
}

TEST(GgufTokenizer, ScoresGiveLlama2Merges) {
  const Json original = ReadJson(kAssets + "tokenizers/llama2/tokenizer.json");
  const auto files = TokenizerFromGguf(Llama2Vocabulary(original), "llama2.gguf");
  ASSERT_TRUE(files) << files.error().ToString();
  const Json made = *ParseJson(files->tokenizer_json, "made");
  std::vector<std::string> merges;
  for (const Json& pair : made["model"]["merges"])
    merges.push_back(pair[0].get<std::string>() + " " + pair[1].get<std::string>());
  EXPECT_TRUE(merges == original["model"]["merges"].get<std::vector<std::string>>());
  EXPECT_EQ(made["added_tokens"], original["added_tokens"]);
  EXPECT_EQ(made["normalizer"], original["normalizer"]);
  EXPECT_EQ(made["decoder"], original["decoder"]);
  const auto tokenizer = Tokenizer::FromJson(files->tokenizer_json, files->tokenizer_config_json);
  ASSERT_TRUE(tokenizer) << tokenizer.error().ToString();
  ExpectGoldenCases(**tokenizer, "llama2");
}

TEST(GgufTokenizer, PreLlamaBpeIsLlama3) {
  const Json original = ReadJson(kAssets + "tokenizers/llama3_1/tokenizer.json");
  GgufVocabulary v{.model = "gpt2", .pre = "llama-bpe", .tokens = std::vector<std::string>(128256)};
  for (const auto& [text, id] : original["model"]["vocab"].items())
    v.tokens[id.get<size_t>()] = text;
  v.types.assign(v.tokens.size(), 1);
  for (const Json& token : original["added_tokens"]) {
    v.tokens[token["id"].get<size_t>()] = token["content"].get<std::string>();
    v.types[token["id"].get<size_t>()] = 3;
  }
  v.merges = original["model"]["merges"].get<std::vector<std::string>>();
  v.bos_id = 128000;
  const auto files = TokenizerFromGguf(v, "llama3.gguf");
  ASSERT_TRUE(files) << files.error().ToString();
  const auto tokenizer = Tokenizer::FromJson(files->tokenizer_json, files->tokenizer_config_json);
  ASSERT_TRUE(tokenizer) << tokenizer.error().ToString();
  ExpectGoldenCases(**tokenizer, "llama3_1");
}

}  // namespace
}  // namespace hexlane
