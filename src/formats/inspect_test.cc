#include "formats/inspect.h"

#include <gtest/gtest.h>

#include "base/json.h"

namespace hexlane {
namespace {

const std::filesystem::path kData = HEXLANE_TEST_DATA;

TEST(Inspect, SummarisesGguf) {
  const auto path = kData / "../../.assets/SmolLM2-135M-Instruct.Q4_1.gguf";
  ASSERT_TRUE(std::filesystem::exists(path)) << "run tools/setup.sh";
  const Json json = InspectFile(path).value();
  EXPECT_EQ(json["format"], "gguf");
  EXPECT_EQ(json["version"], 3);
  EXPECT_EQ(json["metadata"]["llama.block_count"], 30);
  EXPECT_EQ(json["metadata"]["tokenizer.ggml.tokens"],
            (Json{{"array", "string"}, {"length", 49152}}));
  EXPECT_EQ(json["tensors"][0], (Json{{"name", "token_embd.weight"},
                                      {"shape", {49152, 576}},
                                      {"type", "Q8_0"},
                                      {"bytes", 30081024},
                                      {"offset", 1785664},
                                      {"file", 0}}));
  EXPECT_EQ(json["totals"]["elements"], 134515008);
  EXPECT_EQ(json["totals"]["types"]["Q4_1"]["tensors"], 210);
}

TEST(Inspect, SummarisesSafetensors) {
  const Json json = InspectFile(kData / "containers/ok-metadata.safetensors").value();
  EXPECT_EQ(json["format"], "safetensors");
  EXPECT_FALSE(json["metadata"].empty());
  EXPECT_EQ(json["tensors"][0]["name"], "a");
  EXPECT_EQ(json["totals"]["bytes"], 16);
}

TEST(Inspect, SummarisesFolders) {
  const Json json = InspectFile(kData / "checkpoints/llama-sharded").value();
  EXPECT_EQ(json["format"], "huggingface");
  EXPECT_EQ(json["metadata"]["model_type"], "llama");
  EXPECT_EQ(json["files"].size(), 6u);
  EXPECT_EQ(json["totals"]["bytes"], 254592);  // metadata.total_size of its index
}

TEST(Inspect, ReportsErrors) {
  EXPECT_EQ(InspectFile(kData / "nothing").error().code, Code::kNotFound);
  EXPECT_EQ(InspectFile(kData / "README.md").error().code, Code::kUnsupported);
  EXPECT_EQ(InspectFile(kData / "containers/bad-hole.safetensors").error().code, Code::kCorrupt);
}

}  // namespace
}  // namespace hexlane
