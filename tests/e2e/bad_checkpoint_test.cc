// Damaged, hostile and unsuitable checkpoints: exit code 3, a message that names the file and the
// field, nothing left behind.
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <cstring>

#include "models.h"

namespace hexlane::e2e {
namespace {

using testing::HasSubstr;

class BadCheckpoint : public ScratchTest {
 protected:
  BadCheckpoint() { model_ = CopyTinyModel("model"); }

  CliResult Convert(const std::string& model, const std::string& scheme = "f16") const {
    Arguments arguments = {"convert", model, "-o", Path("out/deep"), "--quant", scheme};
    for (const std::string& option : TinyOptions()) arguments.push_back(option);
    return RunCli(arguments, {.timeout = 60});
  }

  // Converting says every one of `parts` and leaves nothing.
  void ExpectBad(const std::vector<std::string>& parts, const std::string& scheme = "f16") const {
    SCOPED_TRACE(testing::PrintToString(parts));
    ExpectRefused(Convert(model_, scheme), 3, parts);
    EXPECT_FALSE(fs::exists(Path("out"))) << "debris";
  }

  void ExpectBadConfig(const std::string& key, const Json& value,
                       const std::vector<std::string>& parts) const {
    SCOPED_TRACE(key + " = " + value.dump());
    const fs::path config = fs::path(model_) / "config.json";
    const std::string good = ReadFile(config);
    EditJson(config, [&](Json& json) { json[key] = value; });
    ExpectBad(parts);
    WriteFile(config, good);
  }

  fs::path Weights() const { return fs::path(model_) / "model.safetensors"; }

  std::string model_;
};

TEST_F(BadCheckpoint, TruncatedSafetensors) {
  const std::string good = ReadFile(Weights());
  for (const size_t size : {size_t{0}, size_t{4}, size_t{8}, size_t{100}, good.size() - 1}) {
    WriteFile(Weights(), good.substr(0, size));
    ExpectBad({"model.safetensors: offset", "download it again"});
  }
}

TEST_F(BadCheckpoint, FlippedBitsInTheSafetensorsHeaderNeverCrash) {
  const std::string good = ReadFile(Weights());
  for (size_t at = 0; at < 2000; at += 97) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ (1 << (at % 8)));
    WriteFile(Weights(), bad);
    const CliResult result = Convert(model_);
    EXPECT_TRUE(result.exit_code == 0 || result.exit_code == 3) << at << result.err;
    fs::remove_all(Path("out"));
  }
}

TEST_F(BadCheckpoint, HostileSafetensorsHeaders) {
  const std::string good = ReadFile(Weights());
  const auto header = [&](const char* field, const Json& value) {
    WriteFile(Weights(), good);
    EditSafetensors(Weights(),
                    [&](Json& json, std::string&) { json["lm_head.weight"][field] = value; });
  };
  header("data_offsets", {0, 1ull << 62});
  ExpectBad({"model.safetensors: offset", "lm_head.weight"});
  header("shape", {1ll << 40, 1ll << 40});
  ExpectBad({"model.safetensors: offset", "lm_head.weight"});
  header("dtype", "F31");
  ExpectBad({"model.safetensors: offset", "F31"});
  WriteFile(Weights(), std::string(7, '\xff') + "\x7f" + "{}");
  ExpectBad({"model.safetensors: offset 0"});
}

TEST_F(BadCheckpoint, MissingAndMisshapenTensorsAreNamed) {
  const std::string good = ReadFile(Weights()), name = "model.layers.1.mlp.up_proj.weight";
  EditSafetensors(Weights(), [&](Json& json, std::string&) {
    json["other"] = json[name];
    json.erase(name);
  });
  ExpectBad({name, "missing", "[256, 128]", model_});
  WriteFile(Weights(), good);
  EditSafetensors(Weights(), [&](Json& json, std::string&) { json[name]["shape"] = {128, 256}; });
  ExpectBad({name, "[256, 128]", "[128, 256]", model_});
}

TEST_F(BadCheckpoint, ValuesThatAreNoNumbersAreNamedByEveryScheme) {
  const std::string good = ReadFile(Weights());
  for (const uint16_t bits : {0x7fc0, 0x7f80}) {  // bfloat16: NaN, infinity
    WriteFile(Weights(), good);
    EditSafetensors(Weights(), [&](Json& json, std::string& data) {
      const size_t begin = json["model.layers.1.mlp.up_proj.weight"]["data_offsets"][0];
      std::memcpy(&data[begin + 20], &bits, sizeof bits);
    });
    for (const char* scheme : {"f16", "w8a16", "w4a16"})
      ExpectBad({model_, "layers.1", "up_proj", "finite"}, scheme);
  }
}

TEST_F(BadCheckpoint, ConfigsThatCannotBe) {
  ExpectBadConfig("architectures", {"FooForCausalLM"}, {"FooForCausalLM", "LlamaForCausalLM"});
  ExpectBadConfig("architectures", Json::array(), {"architectures", "config.json"});
  ExpectBadConfig("hidden_size", 0, {"config.json", model_});
  ExpectBadConfig("hidden_size", 1ll << 40, {model_});
  ExpectBadConfig("hidden_size", "x", {"hidden_size", "config.json", "integer"});
  ExpectBadConfig("head_dim", 1 << 30, {model_});
  ExpectBadConfig("head_dim", 15, {model_});
  ExpectBadConfig("num_hidden_layers", 1000000000, {"layers", model_});
  ExpectBadConfig("num_hidden_layers", 4000, {"layers.2.", "missing"});
  ExpectBadConfig("vocab_size", 1 << 27, {"embed_tokens", "[256, 128]"});
  ExpectBadConfig("num_key_value_heads", 3, {"heads", model_});
  ExpectBadConfig("rope_theta", 0, {"theta", "config.json"});
  ExpectBadConfig("rope_scaling", {{"type", "foo"}}, {"'foo'", "config.json", "linear"});
  ExpectBadConfig("hidden_act", "gelu", {"gelu", "config.json"});
  ExpectBadConfig("max_position_embeddings", 32,
                  {"context of 64", "at most 32", model_, "--context 32"});
  ExpectBadConfig("partial_rotary_factor", 0.5, {"partial_rotary_factor", "config.json"});
  ExpectBadConfig("rope_scaling", "linear", {"rope scaling", "config.json", "object"});
  ExpectBadConfig("num_hidden_layers", 1, {"model.layers.1.", "layers 0 to 0", model_});
}

TEST_F(BadCheckpoint, BiasesThatTheConfigDoesNotSpeakOfAreNamed) {
  EditSafetensors(Weights(), [&](Json& json, std::string& data) {
    json["model.layers.0.self_attn.q_proj.bias"] = {
        {"dtype", "BF16"}, {"shape", {128}}, {"data_offsets", {data.size(), data.size() + 256}}};
    data += std::string(256, '\1');
  });
  ExpectBad({"model.layers.0.self_attn.q_proj.bias", "attention_bias", "config.json"});
}

TEST_F(BadCheckpoint, KeepingBlocksNeedsACheckpointThatHasThem) {
  ExpectBad({model_, "BF16", "Q4_0", "--quant w4a16"}, "w4-exact");
}

TEST_F(BadCheckpoint, TheDefaultContextIsNotLongerThanTheModels) {
  EditJson(fs::path(model_) / "config.json",
           [](Json& json) { json["max_position_embeddings"] = 32; });
  const CliResult result = RunCli(
      {"convert", model_, "-o", Path("out"), "--quant", "f16", "--prefill-rows", "16", "--json"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.json()["warnings"].dump(), HasSubstr("context is 32"));
}

TEST_F(BadCheckpoint, TemplatesThatCannotBeParsedAreWarnedOf) {
  WriteFile(fs::path(model_) / "tokenizer_config.json", R"({"chat_template": "{% if %}"})");
  const CliResult result = Convert(model_);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("warning: the chat template"));
}

TEST_F(BadCheckpoint, TokenizerFilesThatAreNoFiles) {
  for (const char* file : {"tokenizer.json", "tokenizer_config.json", "chat_template.jinja"}) {
    const fs::path path = fs::path(model_) / file;
    const std::string good = ReadFile(path);
    fs::remove(path);
    fs::create_directory(path);
    ExpectBad({model_, file, "Put the file itself there"});
    fs::remove(path);
    ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
    ExpectBad({model_, file, "Put the file itself there"});
    fs::remove(path);
    if (!good.empty()) WriteFile(path, good);
  }
  WriteFile(fs::path(model_) / "tokenizer_config.json", "");
  ExpectBad({"tokenizer_config.json", "empty"});
}

TEST_F(BadCheckpoint, AMissingLibraryIsSaidBeforeTheWeightsAreRead) {
  const uint16_t nan = 0x7fc0;
  EditSafetensors(Weights(), [&](Json& json, std::string& data) {
    const size_t begin = json["model.layers.1.mlp.up_proj.weight"]["data_offsets"][0];
    std::memcpy(&data[begin], &nan, sizeof nan);
  });
  ExpectRefused(RunCli({"convert", model_, "-o", Path("out"), "--context", "64", "--prefill-rows",
                        "16", "--soc", "SM8650", "--qnn", "/nonexistent"}),
                4, {"/nonexistent"});
}

TEST_F(BadCheckpoint, ControlCharactersDoNotReachTheTerminal) {
  EditJson(fs::path(model_) / "config.json",
           [](Json& json) { json["architectures"] = {"\x1b[31mRed\xc2\x9b"}; });
  const CliResult result = Convert(model_);
  ExpectRefused(result, 3, {"\\x1b[31mRed\\u009b"});
  EXPECT_EQ(result.err.find('\x1b'), std::string::npos);
}

TEST_F(BadCheckpoint, AMissingTokenizerHasOneRemedyAfterTheOther) {
  fs::remove(fs::path(model_) / "tokenizer.json");
  const CliResult result = Convert(model_, "w8a16");
  ExpectRefused(result, 3, {". Or convert with --quant f16"});
}

TEST_F(BadCheckpoint, JsonFilesThatAreNone) {
  for (const char* file : {"config.json", "tokenizer.json"}) {
    const std::string good = ReadFile(fs::path(model_) / file);
    for (const std::string& bad : {std::string("{\"a\":"), std::string(100000, '[')}) {
      WriteFile(fs::path(model_) / file, bad);
      ExpectBad({model_, file});
    }
    WriteFile(fs::path(model_) / file, "[]");
    ExpectBad({model_, file});
    WriteFile(fs::path(model_) / file, good);
  }
}

TEST_F(BadCheckpoint, TokenizersOfAnotherModelAreRefused) {
  fs::copy(TestData() / "../../.assets/tokenizers/llama2/tokenizer.json",
           fs::path(model_) / "tokenizer.json", fs::copy_options::overwrite_existing);
  ExpectBad({"tokenizer", model_, "256", "32000"});
}

TEST_F(BadCheckpoint, FoldersWithoutAModel) {
  fs::remove(fs::path(model_) / "model.safetensors");
  ExpectBad({model_, "model.safetensors"});
  fs::remove(fs::path(model_) / "config.json");
  ExpectBad({model_, "config.json"});
  for (const char* path : {"/nowhere", "/dev/null"}) ExpectRefused(Convert(path), 3, {path});
  const fs::path pickle = TestData() / "checkpoints/llama-bin";
  ExpectRefused(Convert(pickle), 3, {"pytorch_model.bin", "safetensors"});
}

TEST_F(BadCheckpoint, TruncatedAndFlippedGguf) {
  const std::string path = Path("smol.gguf");
  ASSERT_TRUE(fs::copy_file(SmolModel(), path)) << "run tools/setup.sh";
  const std::string head = ReadFile(path).substr(0, 1 << 16);
  const auto size = fs::file_size(path);
  for (const uintmax_t cut :
       {uintmax_t{0}, uintmax_t{10}, uintmax_t{1000}, uintmax_t{1} << 20, size - 1}) {
    fs::resize_file(path, 0);
    WriteFile(path, head);
    fs::resize_file(path, cut);
    ExpectRefused(Convert(path), 3, {"smol.gguf: offset"});
  }
  for (size_t at = 0; at < 64; at += 3) {  // magic, version, counts, the first names and lengths
    std::string bad = head;
    bad[at] = static_cast<char>(bad[at] ^ 0x80);
    WriteFile(path, bad);
    fs::resize_file(path, size);
    const CliResult result = Convert(path);
    EXPECT_EQ(result.exit_code, 3) << at << result.err;
    EXPECT_THAT(result.err, HasSubstr("smol.gguf")) << at;
  }
}

}  // namespace
}  // namespace hexlane::e2e
