// tools/synthetic_checkpoint: its folders are checkpoints like any other.
#include <gmock/gmock.h>

#include <cmath>
#include <cstring>

#include "models.h"

namespace hexlane::e2e {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsSupersetOf;

void ExpectRefusal(const CliResult& result, const std::vector<std::string>& parts) {
  EXPECT_EQ(result.exit_code, 1) << result.err << result.out;
  EXPECT_THAT(result.err, HasSubstr("synthetic_checkpoint: "));
  for (const std::string& part : parts) EXPECT_THAT(result.err, HasSubstr(part));
}

class SyntheticCheckpoint : public ScratchTest {
 protected:
  static CliResult Make(const std::string& folder, const Arguments& more = {}) {
    Arguments arguments = {folder,  "--layers",      "2",       "--hidden",   "64",
                           "--ffn", "160",           "--heads", "4",          "--vocab",
                           "600",   "--max-context", "256",     "--kv-heads", "2"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return RunCli(arguments, {.program = SYNTHETIC_CHECKPOINT_BINARY});
  }

  std::string Made(const std::string& name, const Arguments& more = {}) const {
    const CliResult result = Make(Path(name), more);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return Path(name);
  }

  // Logits of the float stage, as bytes of a .npy file.
  std::string Logits(const std::string& model) const {
    const CliResult result =
        RunCli({"dump", model, "--ids", "1,300,301,302", "--stage", "float", "-o", Path("dump")});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return ReadFile(scratch() / "dump/logits.npy");
  }
};

// A layer here has 6 MiB in float16: pages of the checkpoint that stay would be seen.
TEST_F(SyntheticCheckpoint, PeakMemoryOfCalibrationIsTheSameForThreeTimesTheLayers) {
  const auto peak = [this](const char* layers) {
    const std::string model =
        Made(std::string("layers") + layers, {"--layers", layers, "--hidden", "512", "--ffn",
                                              "1408", "--heads", "8", "--kv-heads", "4", "--tied"});
    const CliResult result =
        RunCli({"convert", model, "-o", Path("package"), "--quant", "w4a16", "--algorithm", "gptq",
                "--calibration-tokens", "512", "--context", "64", "--prefill-rows", "16", "--force",
                "--json"});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.json()["peak_rss_bytes"].get<double>();
  };
  const double few = peak("5");
  EXPECT_LE(peak("15"), 1.1 * few);
}

TEST_F(SyntheticCheckpoint, ConvertsAndRunsOnTheCpu) {
  const std::string model = Made("model"), package = Path("package");
  EXPECT_THAT(FilesOf(model),
              ElementsAre("config.json", "generation_config.json", "model.safetensors",
                          "synthetic.json", "tokenizer.json", "tokenizer_config.json"));
  const CliResult convert = RunCli({"convert", model, "-o", package, "--quant", "w4a16",
                                    "--context", "64", "--prefill-rows", "16", "--json"});
  ASSERT_EQ(convert.exit_code, 0) << convert.err;
  // Embedding and head 600 x 64; q, o 64 x 64; k, v 32 x 64; gate, up, down 160 x 64.
  const int layer = 2 * 64 * 64 + 2 * 32 * 64 + 3 * 160 * 64;
  EXPECT_EQ(convert.json()["parameters"], 2 * 600 * 64 + 2 * layer);
  EXPECT_THAT(convert.json()["warnings"], testing::IsEmpty());
  const CliResult run = RunCli({"run", package, "-p", "A trip to the sea", "-n", "4", "--json"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_GT(run.json()["tokens"].size(), 0u);
  const CliResult eval = RunCli({"eval", package, "--text", TestData() / "text/prose.txt",
                                 "--window", "64", "--max-windows", "2", "--json"});
  ASSERT_EQ(eval.exit_code, 0) << eval.err;
  EXPECT_GT(eval.json()["perplexity"].get<double>(), 100);  // it knows nothing
}

TEST_F(SyntheticCheckpoint, ActivationsStayBoundedThroughThirtyTwoLayers) {
  const std::string model = Made("model", {"--layers", "32"});
  Logits(model);
  const auto rms = [&](const std::string& name) {
    const std::string file = ReadFile(scratch() / "dump" / (name + ".out.npy"));
    const size_t count = 4 * 64;
    std::vector<float> values(count);
    std::memcpy(values.data(), file.data() + file.size() - count * sizeof(float),
                count * sizeof(float));
    double sum = 0;
    for (const float value : values) sum += double{value} * value;
    return std::sqrt(sum / static_cast<double>(count));
  };
  const double first = rms("embed"), last = rms("layers.31");
  EXPECT_GT(first, 0.01);
  EXPECT_GT(last, first);
  EXPECT_LT(last, 30 * first);
}

TEST_F(SyntheticCheckpoint, DependsOnTheSeedButNotOnThreadsOrShards) {
  const std::string one = Made("one", {"--threads", "1"}),
                    three = Made("three", {"--threads", "3"});
  for (const std::string& file : FilesOf(one))
    EXPECT_EQ(ReadFile(one + "/" + file), ReadFile(three + "/" + file)) << file;
  const std::string shards = Made("shards", {"--shard-size", "100KB"});
  EXPECT_THAT(FilesOf(shards),
              IsSupersetOf({"model.safetensors.index.json", "model-00001-of-00004.safetensors",
                            "model-00004-of-00004.safetensors"}));
  EXPECT_EQ(Logits(shards), Logits(one));
  EXPECT_NE(Logits(Made("other", {"--seed", "1"})), Logits(one));
}

TEST_F(SyntheticCheckpoint, TakesTiedTablesAndOtherTokenizers) {
  const std::string source = CopyTinyModel("source");
  const std::string model =
      Made("model", {"--tied", "--vocab", "256", "--tokenizer", source + "/tokenizer.json"});
  EXPECT_EQ(ReadFile(model + "/tokenizer.json"), ReadFile(source + "/tokenizer.json"));
  EXPECT_EQ(ReadFile(model + "/model.safetensors").find("lm_head"), std::string::npos);
  const CliResult ids = RunCli({"tokenize", model, "-p", "Hi", "--json"});
  EXPECT_EQ(ids.json()["ids"], Json::array({'H', 'i'}));
  ExpectRefusal(Make(Path("small"), {"--vocab", "255", "--tokenizer", source + "/tokenizer.json"}),
                {"token 255", "--vocab"});
}

TEST_F(SyntheticCheckpoint, RefusesShapesThatNoModelHasAndOtherPeoplesFolders) {
  ExpectRefusal(Make(Path("model"), {"--heads", "5"}), {"hidden 64 with 5 heads"});
  ExpectRefusal(Make(Path("model"), {"--kv-heads", "3"}), {"4 heads with 3 kv heads"});
  ExpectRefusal(Make(Path("model"), {"--vocab", "258"}), {"258", "at least 259"});
  EXPECT_THAT(Listing(), ElementsAre());
  fs::create_directory(scratch() / "mine");
  WriteFile(scratch() / "mine/notes.txt", "mine");
  ExpectRefusal(Make(Path("mine")), {"mine"});
  EXPECT_THAT(FilesOf(scratch() / "mine"), ElementsAre("notes.txt"));
  Made("again");
  Made("again", {"--seed", "1"});  // replaces its own
}

}  // namespace
}  // namespace hexlane::e2e
