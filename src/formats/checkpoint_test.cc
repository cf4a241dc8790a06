#include "formats/checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "base/json.h"
#include "formats/testing/folder.h"

namespace hexlane {
namespace {

namespace fs = std::filesystem;
using testing::Folder;
using ::testing::HasSubstr;

const fs::path kData = HEXLANE_TEST_DATA;
const fs::path kSmolLm2 = kData / "../../.assets/SmolLM2-135M-Instruct.Q4_1.gguf";

double Sum(const std::vector<float>& values) {
  double sum = 0;
  for (const float value : values) sum += value;
  return sum;
}

// U8 tensors of one element.
std::string TinyWeights(const std::vector<std::string>& names) {
  std::string header = "{";
  for (size_t i = 0; i < names.size(); ++i)
    header += fmt::format(R"({}"{}":{{"dtype":"U8","shape":[1],"data_offsets":[{},{}]}})",
                          i ? "," : "", names[i], i, i + 1);
  header += "}";
  const uint64_t size = header.size();
  return std::string(reinterpret_cast<const char*>(&size), 8) + header +
         std::string(names.size(), '\7');
}

TEST(Checkpoint, ReadsEveryGoldenFolder) {
  int folders = 0;
  for (const auto& entry : fs::directory_iterator(kData / "checkpoints")) {
    if (!fs::exists(entry.path() / "config.json") || fs::exists(entry.path() / "pytorch_model.bin"))
      continue;
    SCOPED_TRACE(entry.path().filename().string());
    ++folders;
    const auto checkpoint = Checkpoint::Open(entry.path()).value();
    EXPECT_EQ(checkpoint->format(), "huggingface");
    const std::string text = ReadTextFile(entry.path() / "expected.json").value();
    const Json expected = ParseJson(text, "expected.json").value()["tensors"];
    EXPECT_EQ(checkpoint->tensors().size(), expected.size());
    for (const auto& [name, want] : expected.items()) {
      SCOPED_TRACE(name);
      const StoredTensor* tensor = checkpoint->Find(name);
      ASSERT_NE(tensor, nullptr);
      EXPECT_EQ(Json(tensor->shape.dims()), want["shape"]);
      EXPECT_EQ(Sha256(tensor->bytes), want["sha256"].get<std::string>());
      EXPECT_DOUBLE_EQ(Sum(checkpoint->ReadFloats(*tensor).value()), want["sum"].get<double>());
    }
  }
  EXPECT_EQ(folders, 13);
}

TEST(Checkpoint, ListsTheFilesItRead) {
  const auto checkpoint = Checkpoint::Open(kData / "checkpoints/llama-sharded").value();
  std::vector<std::string> names;
  for (const fs::path& file : checkpoint->files()) names.push_back(file.filename());
  EXPECT_THAT(names, ::testing::ElementsAre(
                         "config.json", "generation_config.json", "model.safetensors.index.json",
                         "model-00001-of-00003.safetensors", "model-00002-of-00003.safetensors",
                         "model-00003-of-00003.safetensors"));
  const StoredTensor* head = checkpoint->Find("lm_head.weight");
  ASSERT_NE(head, nullptr);
  EXPECT_EQ(names[head->file], "model-00003-of-00003.safetensors");
  EXPECT_EQ(checkpoint->Find("nothing"), nullptr);
}

TEST(Checkpoint, ReadsSomeRows) {
  const auto checkpoint = Checkpoint::Open(kData / "checkpoints/llama-gqa").value();
  const StoredTensor& tensor = *checkpoint->Find("model.embed_tokens.weight");
  const std::vector<float> all = checkpoint->ReadFloats(tensor).value();
  const int64_t columns = tensor.shape.last();
  std::vector<float> rows(3 * columns);
  ASSERT_TRUE(checkpoint->ReadRows(tensor, 5, 3, rows).has_value());
  EXPECT_TRUE(std::equal(rows.begin(), rows.end(), all.begin() + 5 * columns));
  const auto past = checkpoint->ReadRows(tensor, tensor.shape.rows() - 2, 3, rows);
  ASSERT_FALSE(past.has_value());
  EXPECT_THAT(past.error().ToString(), HasSubstr("model.embed_tokens.weight"));
  EXPECT_FALSE(checkpoint->ReadRows(tensor, -1, 3, rows).has_value());
}

TEST(Checkpoint, ExplainsPickles) {
  const auto result = Checkpoint::Open(kData / "checkpoints/llama-bin");
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code, Code::kUnsupported);
  EXPECT_THAT(result.error().remedy, HasSubstr("save_pretrained"));
}

TEST(Checkpoint, ExplainsWhatIsNoCheckpoint) {
  const Folder folder;
  EXPECT_THAT(folder.Error(Code::kNotFound), HasSubstr("no config.json"));
  folder.Write("config.json", "{}");
  EXPECT_THAT(folder.Error(Code::kNotFound), HasSubstr("no weights"));
  folder.Write("a.safetensors", TinyWeights({"a"}));
  EXPECT_EQ(folder.Error(Code::kNotFound), "no error");
  folder.Write("b.safetensors", TinyWeights({"b"}));
  EXPECT_THAT(folder.Error(Code::kNotFound), HasSubstr("no index"));
  const auto lone = Checkpoint::Open(folder.path() / "a.safetensors");
  EXPECT_THAT(lone.error().remedy, HasSubstr("Give the folder"));
  EXPECT_EQ(Checkpoint::Open(folder.path() / "c").error().code, Code::kNotFound);
  const auto adapter = Checkpoint::Open(kData / "checkpoints/lora-for-llama-gqa");
  EXPECT_THAT(adapter.error().ToString(), HasSubstr("LoRA"));
}

TEST(Checkpoint, ChecksTheIndexAgainstTheShards) {
  const Folder folder;
  const auto index = [&](std::string_view map) {
    folder.Write("model.safetensors.index.json", fmt::format(R"({{"weight_map":{{{}}}}})", map));
  };
  folder.Write("config.json", "{}");
  folder.Write("x.safetensors", TinyWeights({"a", "b"}));
  folder.Write("y.safetensors", TinyWeights({"c"}));
  index(R"("a":"x.safetensors","b":"x.safetensors","c":"y.safetensors")");
  EXPECT_EQ(folder.Error(Code::kCorrupt), "no error");
  index(R"("a":"x.safetensors","c":"z.safetensors")");
  EXPECT_THAT(folder.Error(Code::kNotFound), HasSubstr("shard 'z.safetensors' is missing"));
  index(R"("a":"y.safetensors","b":"x.safetensors")");
  EXPECT_THAT(folder.Error(Code::kCorrupt), HasSubstr("tensor 'a' is not in the shard"));
  index(R"("d":"y.safetensors")");
  EXPECT_THAT(folder.Error(Code::kCorrupt), HasSubstr("tensor 'd' is not in the shard"));
  folder.Write("y.safetensors", TinyWeights({"c", "a"}));
  index(R"("a":"x.safetensors","c":"y.safetensors")");
  EXPECT_THAT(folder.Error(Code::kCorrupt), HasSubstr("tensor 'a' is in two files"));
  index(R"("a":"model.safetensors.index.json")");
  EXPECT_THAT(folder.Error(Code::kCorrupt), HasSubstr("bad shard name"));
}

TEST(Checkpoint, JoinsTheChatTemplateFile) {
  const Folder folder;
  folder.Write("config.json", "{}");
  folder.Write("model.safetensors", TinyWeights({"a"}));
  const auto tokenizer = [&] { return Checkpoint::Open(folder.path()).value()->tokenizer_files(); };
  EXPECT_EQ(tokenizer().error().code, Code::kNotFound);
  folder.Write("tokenizer.json", R"({"model":1})");
  EXPECT_EQ(tokenizer()->tokenizer_json, R"({"model":1})");
  EXPECT_EQ(tokenizer()->tokenizer_config_json, "");
  folder.Write("tokenizer_config.json", R"({"bos_token":"<s>"})");
  folder.Write("chat_template.jinja", "{{ x }}");
  const Json config = ParseJson(tokenizer()->tokenizer_config_json, "c").value();
  EXPECT_EQ(config, (Json{{"bos_token", "<s>"}, {"chat_template", "{{ x }}"}}));
}

TEST(Checkpoint, MakesTheTokenizerOfSmolLm2) {
  ASSERT_TRUE(fs::exists(kSmolLm2)) << "run tools/setup.sh";
  const TokenizerFiles files = Checkpoint::Open(kSmolLm2).value()->tokenizer_files().value();
  const Json tokenizer = ParseJson(files.tokenizer_json, "tokenizer.json").value();
  EXPECT_EQ(tokenizer["model"]["vocab"].size(), 49152u);
  EXPECT_EQ(tokenizer["model"]["merges"].size(), 48900u);
  const Json config = ParseJson(files.tokenizer_config_json, "tokenizer_config.json").value();
  EXPECT_THAT(config["chat_template"].get<std::string>(), HasSubstr("<|im_start|>"));
}

// Shapes and sums as of PyPI gguf 0.19.0: GGUFReader, dequantize, float64 sum.
TEST(Checkpoint, ReadsSmolLm2) {
  ASSERT_TRUE(fs::exists(kSmolLm2)) << "run tools/setup.sh";
  const auto checkpoint = Checkpoint::Open(kSmolLm2).value();
  EXPECT_EQ(checkpoint->format(), "gguf");
  EXPECT_EQ(checkpoint->tensors().size(), 272u);
  EXPECT_EQ(checkpoint->config()["general.architecture"], "llama");
  EXPECT_EQ(checkpoint->config()["llama.attention.head_count_kv"], 3);
  EXPECT_FALSE(checkpoint->config().contains("tokenizer.ggml.tokens"));
  EXPECT_EQ(checkpoint->generation_config(),
            (Json{{"bos_token_id", 1}, {"eos_token_id", 2}, {"pad_token_id", 2}}));
  struct Want {
    std::string_view name;
    StorageType type;
    Shape shape;
    double sum;
  };
  const Want wants[] = {
      {"token_embd.weight", StorageType::kQ8_0, {49152, 576}, -15353.04449415207},
      {"blk.0.attn_q.weight", StorageType::kQ4_1, {576, 576}, 59.22322082519531},
      {"blk.0.attn_norm.weight", StorageType::kF32, {576}, 0.6129436492919922},
      {"blk.29.ffn_down.weight", StorageType::kQ4_1, {576, 1536}, 49.83570861816406},
      {"output_norm.weight", StorageType::kF32, {576}, 1038.33203125},
  };
  for (const Want& want : wants) {
    SCOPED_TRACE(want.name);
    const StoredTensor* tensor = checkpoint->Find(want.name);
    ASSERT_NE(tensor, nullptr);
    EXPECT_EQ(tensor->type, want.type);
    EXPECT_EQ(tensor->shape, want.shape);
    EXPECT_NEAR(Sum(checkpoint->ReadFloats(*tensor).value()), want.sum, 1e-7);
  }
}

TEST(Checkpoint, KeepsSmolLm2Exactly) {
  ASSERT_TRUE(fs::exists(kSmolLm2)) << "run tools/setup.sh";
  const auto checkpoint = Checkpoint::Open(kSmolLm2).value();
  int kept = 0;
  for (const StoredTensor& tensor : checkpoint->tensors())
    kept += Info(tensor.type).block_elements == 32 && tensor.shape.rank() == 2;
  EXPECT_EQ(kept, 211);
  const StoredTensor& tensor = *checkpoint->Find("blk.3.ffn_down.weight");
  const std::optional<QuantizedMatrix> matrix = checkpoint->ReadKept(tensor);
  ASSERT_TRUE(matrix.has_value());
  EXPECT_EQ(matrix->scheme, Scheme::kW4Affine32);
  const std::vector<float> want = checkpoint->ReadFloats(tensor).value();
  std::vector<float> row(matrix->k);
  for (int64_t r = 0; r < matrix->n; ++r) {
    matrix->DequantizeRow(r, row.data());
    ASSERT_TRUE(std::equal(row.begin(), row.end(), want.begin() + r * matrix->k)) << r;
  }
  EXPECT_FALSE(checkpoint->ReadKept(*checkpoint->Find("output_norm.weight")).has_value());
}

}  // namespace
}  // namespace hexlane
