// Every case of tests/data/tokenizers for the tokenizers in .assets: ids and text equal to Hugging
// Face's.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "base/file.h"
#include "base/json.h"
#include "runtime/tokenizer/tokenizer.h"

namespace hexlane {
namespace {

const std::string kData = HEXLANE_TEST_DATA;

std::string ReadAsset(const std::string& name) {
  auto text = ReadTextFile(kData + "/../../.assets/tokenizers/" + name);
  EXPECT_TRUE(text) << text.error().ToString() << "; run tools/setup.sh";
  return text.value_or("");
}

Json Cases(const std::string& name) {
  auto text = ReadTextFile(kData + "/tokenizers/" + name + ".json");
  EXPECT_TRUE(text) << text.error().ToString();
  return *ParseJson(*text, name);
}

class Golden : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    cases_ = Cases(GetParam());
    auto made = Tokenizer::FromJson(ReadAsset(GetParam() + "/tokenizer.json"),
                                    ReadAsset(GetParam() + "/tokenizer_config.json"));
    ASSERT_TRUE(made) << made.error().ToString();
    tokenizer_ = std::move(*made);
  }

  Json cases_;
  std::unique_ptr<Tokenizer> tokenizer_;
};

using Ids = std::vector<int32_t>;

TEST_P(Golden, EncodesAsHuggingFace) {
  for (const Json& c : cases_["cases"]) {
    SCOPED_TRACE(c["name"].get<std::string>());
    const auto text = c["text"].get<std::string>();
    const auto ids = c["ids"].get<Ids>();
    EXPECT_EQ(tokenizer_->Encode(text, {.add_special_tokens = false}), ids);
    EXPECT_EQ(tokenizer_->Encode(text), c["ids_with_special"].get<Ids>());
    EXPECT_EQ(tokenizer_->Encode(text, {.add_special_tokens = false, .parse_special = false}),
              c.value("ids_special_tokens_as_plain_text", ids));
  }
}

TEST_P(Golden, DecodesAsHuggingFace) {
  for (const Json& c : cases_["cases"]) {
    SCOPED_TRACE(c["name"].get<std::string>());
    EXPECT_EQ(tokenizer_->Decode(c["ids"].get<Ids>(), false), c["decoded"].get<std::string>());
    EXPECT_EQ(tokenizer_->Decode(c["ids_with_special"].get<Ids>(), true),
              c["decoded_skip_special"].get<std::string>());
  }
}

TEST_P(Golden, StreamsWholeCharacters) {
  for (const Json& c : cases_["streaming"]) {
    SCOPED_TRACE(c["name"].get<std::string>());
    StreamDecoder decoder(*tokenizer_, false);
    std::string all;
    for (size_t i = 0; i < c["ids"].size(); ++i) {
      const std::string piece = decoder.Push(c["ids"][i].get<int32_t>());
      EXPECT_EQ(piece, c["pieces"][i].get<std::string>()) << "token " << i;
      all += piece;
    }
    const std::string rest = decoder.Finish();
    EXPECT_EQ(rest.empty(), !c.contains("pending_bytes_hex"));
    if (c.contains("text")) {
      EXPECT_EQ(all + rest, c["text"].get<std::string>());
    } else {
      EXPECT_EQ(tokenizer_->Decode(c["ids"].get<Ids>(), false),
                c["hf_decode_of_all"].get<std::string>());
    }
  }
}

TEST_P(Golden, StreamsWhatDecodeGives) {
  for (const Json& c : cases_["cases"]) {
    SCOPED_TRACE(c["name"].get<std::string>());
    StreamDecoder decoder(*tokenizer_, true);
    std::string all;
    for (const int32_t id : c["ids_with_special"].get<Ids>()) all += decoder.Push(id);
    EXPECT_EQ(all + decoder.Finish(), c["decoded_skip_special"].get<std::string>());
  }
}

INSTANTIATE_TEST_SUITE_P(Tokenizer, Golden, testing::Values("llama2", "llama3", "llama3_1"));

}  // namespace
}  // namespace hexlane
