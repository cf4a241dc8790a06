// The main job: a checkpoint becomes a package that is verified, measured and run.
#include <gmock/gmock.h>

#include <cmath>
#include <cstring>
#include <sstream>

#include "models.h"

namespace hexlane::e2e {
namespace {

using testing::Contains;
using testing::HasSubstr;

class Pipeline : public ScratchTest {
 protected:
  // The result of a command that must succeed.
  Json Good(Arguments arguments) const {
    arguments.push_back("--json");
    const CliResult result = RunCli(arguments);
    EXPECT_EQ(result.exit_code, 0) << arguments[0] << ": " << result.err << result.out;
    EXPECT_EQ(result.err, "") << arguments[0];
    return result.json();
  }
};

void ExpectFields(const Json& json, const std::vector<std::string>& fields) {
  for (const std::string& field : fields) EXPECT_TRUE(json.contains(field)) << field;
}

// The elements of a float32 .npy file (numpy.lib.format, version 1.0).
std::vector<float> ReadNpy(const fs::path& path) {
  const std::string file = ReadFile(path);
  EXPECT_TRUE(file.starts_with("\x93NUMPY")) << path;
  if (file.size() < 10) return {};
  const size_t header =
      10 + static_cast<unsigned char>(file[8]) + 256 * static_cast<unsigned char>(file[9]);
  EXPECT_THAT(file.substr(0, header), HasSubstr("'<f4'"));
  std::vector<float> values((file.size() - header) / sizeof(float));
  std::memcpy(values.data(), file.data() + header, values.size() * sizeof(float));
  return values;
}

double Cosine(const std::vector<float>& a, const std::vector<float>& b) {
  double ab = 0, aa = 0, bb = 0;
  for (size_t i = 0; i < a.size(); ++i)
    ab += double{a[i]} * b[i], aa += double{a[i]} * a[i], bb += double{b[i]} * b[i];
  return ab / std::sqrt(aa * bb);
}

TEST_F(Pipeline, SmolConvertsInspectsAndVerifies) {
  const std::string package = Path("smol");
  const Json convert = Good({"convert", SmolModel(), "-o", package});
  ExpectFields(convert, {"seconds", "peak_rss_bytes", "files", "scheme", "bits_per_weight"});
  EXPECT_EQ(convert["scheme"], "w4-exact");
  EXPECT_LE(convert["bits_per_weight"].get<double>(), 6);
  EXPECT_LE(convert["peak_rss_bytes"].get<double>(), 1.2 * (1 << 30));
  const Json inspect = Good({"inspect", package});
  EXPECT_EQ(inspect["format"], "hexlane-package");
  EXPECT_EQ(inspect["architecture"], "llama");
  const Json verify = Good({"verify", package, "--max-tokens", "16", "--greedy", "4"});
  ExpectFields(verify, {"stages", "layers", "greedy", "first_failure"});
  EXPECT_TRUE(verify["faithful"] == true && verify["loss_ok"] == true && verify["pass"] == true);
  for (const Json& stage : verify["stages"])
    EXPECT_GE(stage["cosine"].get<double>(), 0.999) << stage.dump();
}

TEST_F(Pipeline, SmolRunsEvaluatesAndIsMeasured) {
  const std::string package = SmolPackage();
  const Json run =
      Good({"run", package, "-p", "What is the capital of France?", "--chat", "-n", "16"});
  EXPECT_THAT(run["text"].get<std::string>(), HasSubstr("Paris"));
  ExpectFields(run, {"tokens", "finish_reason", "stats"});
  ExpectFields(run["stats"]["stages"], {"tokenize", "copy", "execute", "sample", "detokenize"});
  const Json eval = Good({"eval", package, "--text", TestData() / "text/prose.txt", "--window",
                          "128", "--max-windows", "2"});
  ExpectFields(eval, {"perplexity", "tokens", "stage"});
  EXPECT_GT(eval["perplexity"].get<double>(), 1);
  EXPECT_LT(eval["perplexity"].get<double>(), 100);
  const Json bench = Good(
      {"bench", package, "--prompt-tokens", "16", "--decode-tokens", "4", "--repetitions", "1"});
  ExpectFields(bench, {"prefill_tok_s", "decode_tok_s", "first_token_ms", "load_ms",
                       "peak_rss_bytes", "stages"});
  EXPECT_GT(bench["decode_tok_s"].get<double>(), 0);
}

TEST_F(Pipeline, ChatAnswersEachLine) {
  const CliResult result =
      RunCli({"chat", SmolPackage(), "--json", "-n", "4"}, {.input = "Hi\nAnd now?\n"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(std::count(result.out.begin(), result.out.end(), '\n'), 2);
}

TEST_F(Pipeline, ChatGoesOnAfterEmptyLinesAndMessagesThatAreTooLong) {
  const std::string model = CopyTinyModel("model");
  WriteFile(fs::path(model) / "tokenizer_config.json",
            R"({"chat_template": "{% for m in messages %}{{ m.content }}{% endfor %}"})");
  Good({"convert", model, "-o", Path("tiny"), "--quant", "f16", "--context", "64", "--prefill-rows",
        "16"});
  const CliResult result = RunCli({"chat", Path("tiny"), "--json", "-n", "2"},
                                  {.input = "ab\n\n" + std::string(100, 'x') + "\ncd\n"});
  EXPECT_EQ(result.exit_code, 1) << "a turn was refused";
  EXPECT_THAT(result.err, HasSubstr("tokens too long"));
  std::vector<Json> turns;
  std::istringstream lines(result.out);
  for (std::string line; std::getline(lines, line);) turns.push_back(Json::parse(line));
  ASSERT_EQ(turns.size(), 3u) << result.out;
  ExpectFields(turns[0], {"text", "variant", "fallback_reason", "stats"});
  ExpectFields(turns[1], {"error"});
  ExpectFields(turns[2], {"text"});
}

TEST_F(Pipeline, DumpOfTheFloatStageIsWhatTransformersComputes) {
  for (const char* name : {"llama-gqa", "llama-tied-f32", "llama-sharded",
                           "llama-rope-scaling-llama3", "llama-rope-linear"}) {
    const fs::path model = TestData() / "checkpoints" / name;
    std::string ids = ReadJsonFile(model / "expected.json")["input_ids"].dump();
    ids = ids.substr(1, ids.size() - 2);
    Good({"dump", model, "--ids", ids, "--stage", "float", "-o", Path("dump")});
    const std::vector<float> logits = ReadNpy(scratch() / "dump/logits.npy");
    const std::string golden = ReadFile(model / "logits.f32");
    std::vector<float> want(golden.size() / sizeof(float));
    std::memcpy(want.data(), golden.data(), golden.size());
    ASSERT_EQ(logits.size(), want.size()) << name;
    EXPECT_GE(Cosine(logits, want), 0.999999) << name;
  }
}

std::vector<float> GoldenLogits(const fs::path& folder) {
  const std::string golden = ReadFile(folder / "logits.f32");
  std::vector<float> want(golden.size() / sizeof(float));
  std::memcpy(want.data(), golden.data(), golden.size());
  return want;
}

class QuantisedModels : public Pipeline {
 protected:
  // Overrides that leave a table stored in floats 8 bits.
  std::string WideTable() const {
    WriteFile(Path("table.json"), R"({"rules": [{"pattern": "embed", "weights": "w8-channel"}]})");
    return Path("table.json");
  }

  // Converts a model of which `golden` says what it computes, and follows it to the CPU package.
  void Follow(const std::string& model, const fs::path& golden, int kept,
              const Arguments& more = {}) {
    Arguments arguments = {"convert",  model,       "-o", Path("package"),  "--quant",
                           "w4-exact", "--context", "64", "--prefill-rows", "16"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Json convert = Good(arguments);
    EXPECT_EQ(convert["kept"]["matrices"], 9);
    EXPECT_EQ(convert["kept"]["kept"], kept);
    for (const Json& loss : convert["kept"]["losses"]) EXPECT_GT(loss["snr_db"], 40) << loss;
    std::string ids = ReadJsonFile(golden / "expected.json")["input_ids"].dump();
    ids = ids.substr(1, ids.size() - 2);
    Good({"dump", Path("package"), "--ids", ids, "--stage", "cpu", "-o", Path("dump")});
    // The embedding and the head, in 8 bits, are off by 41 to 44 dB each; random layers amplify it.
    EXPECT_GT(Cosine(ReadNpy(scratch() / "dump/logits.npy"), GoldenLogits(golden)), 0.999);
    const Json verify = Good({"verify", Path("package"), "--max-tokens", "16"});
    EXPECT_EQ(verify["pass"], true) << verify;
  }
};

TEST_F(QuantisedModels, KeepTheIntegersOfGptqAndAwqAndCompressedTensors) {
  for (const char* name : {"gptq-4bit-32", "gptq-4bit-channel", "gptq-8bit-128", "awq-4bit-128",
                           "compressed-4bit-64", "compressed-4bit-channel"}) {
    SCOPED_TRACE(name);
    const std::string model = CopyTinyModel(name, std::string("../quantised_checkpoints/") + name);
    Follow(model, model, 7, {"--overrides", WideTable()});  // table and head are float16
    fs::remove_all(Path("package"));
  }
}

TEST_F(QuantisedModels, GetA4BitTableFromFloatsUnlessToldOtherwise) {
  const Arguments convert = {"convert",
                             TestData() / "quantised_checkpoints/gptq-4bit-32",
                             "-o",
                             Path("package"),
                             "--context",
                             "64",
                             "--prefill-rows",
                             "16"};
  Good(convert);
  const auto form_of_table = [&] {
    const Json units = ReadJsonFile(scratch() / "package/report.json")["units"];
    return units[0]["weights"][0]["scheme"];
  };
  EXPECT_EQ(form_of_table(), "w4-affine32");
  Arguments wider = convert;
  wider.insert(wider.end(), {"--overrides", WideTable()});
  Good(wider);
  EXPECT_EQ(form_of_table(), "w8-channel");
}

TEST_F(QuantisedModels, KeepTheIntegersOfKQuants) {
  const fs::path folder = TestData() / "quantised_checkpoints/k-quants";
  Follow(folder / "model.gguf", folder, 6);  // Q5_K and Q6_K become 8 bits
}

TEST_F(QuantisedModels, WithColumnsInAnOrderOfTheirOwnAreRefusedOrRoundedAnew) {
  const std::string model = CopyTinyModel("act", "../quantised_checkpoints/gptq-act-order");
  const Arguments convert = {"convert",        model, "-o", Path("package"), "--context", "64",
                             "--prefill-rows", "16"};
  Arguments exact = convert;
  exact.insert(exact.end(), {"--quant", "w4-exact"});
  ExpectRefused(RunCli(exact), 3,
                {"'model.layers.0.self_attn.q_proj.weight'", "desc_act", "--quant w8a16"});
  EXPECT_EQ(Good(convert)["scheme"], "w8a16");
}

TEST_F(Pipeline, WhatKeepingIntegersLostIsPrintedForEveryLayer) {
  const Arguments convert = {"convert",
                             TestData() / "quantised_checkpoints/awq-4bit-128",
                             "-o",
                             Path("awq"),
                             "--context",
                             "64",
                             "--prefill-rows",
                             "16"};
  for (const char* again : {"first", "up to date"}) {
    SCOPED_TRACE(again);
    const CliResult result = RunCli(convert);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_THAT(result.out, HasSubstr("7 of 9 matrices in the checkpoint's own integers, 0 of "));
    EXPECT_THAT(result.out, HasSubstr("layers.0     lost most in layers.0."));
  }
}

TEST_F(Pipeline, EverySchemeOfATinyModelIsFaithful) {
  for (const char* scheme : {"f16", "w8a16", "w4a16"}) {
    const std::string package = TinyPackage(scheme, scheme);
    // Random weights amplify rounding: less agreement than a trained model has.
    const CliResult verify =
        RunCli({"verify", package, "--json", "--max-loss", "0.5", "--min-faithful", "0.99"});
    EXPECT_EQ(verify.exit_code, 0) << scheme << verify.err << verify.out;
    EXPECT_EQ(verify.json()["faithful"], true) << scheme;
    Good({"run", package, "-p", "Hello", "-n", "5"});
    for (const char* stage : {"float", "quant", "cpu"})
      Good({"dump", package, "-p", "Hello", "--stage", stage, "-o", Path("dump")});
  }
}

TEST_F(Pipeline, VerifyFailsWithExitCodeOneWhenTheLossIsTooHigh) {
  const std::string package = TinyPackage("tiny", "w4a16");
  const CliResult result = RunCli({"verify", package, "--json", "--max-loss", "0.9999999"});
  EXPECT_EQ(result.exit_code, 1) << result.err;
  const Json json = result.json();
  EXPECT_EQ(json["faithful"], true);
  EXPECT_EQ(json["loss_ok"], false);
  EXPECT_EQ(json["first_failure"]["against"], "float");
}

TEST_F(Pipeline, ConvertsAgainOnlyWhenSomethingChanged) {
  const std::string package = SmolPackage();
  const Arguments again = {"convert", SmolModel(), "-o", package};
  EXPECT_EQ(Good(again)["up_to_date"], true);
  Arguments changed = again;
  changed.insert(changed.end(), {"--context", "256"});
  EXPECT_EQ(Good(changed)["up_to_date"], false);
  EXPECT_EQ(Good(changed)["up_to_date"], true);
  changed.push_back("--force");
  EXPECT_EQ(Good(changed)["up_to_date"], false);
  EXPECT_THAT(RunCli(again).out, testing::Not(HasSubstr("up to date")));
  EXPECT_THAT(RunCli(again).out, HasSubstr("up to date"));
  EXPECT_THAT(Listing(), testing::ElementsAre("smol"));
}

TEST_F(Pipeline, AModelWithoutATokenizerTakesIds) {
  Arguments convert = {"convert", TinyCheckpoint(), "-o", "tiny", "--quant"};
  convert.push_back("f16");
  for (const std::string& option : TinyOptions()) convert.push_back(option);
  const CliResult result = RunCli(convert, {.folder = scratch()});  // a relative output, too
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("tokenizer.json"));
  Good({"dump", Path("tiny"), "--ids", "1,2,3", "--stage", "cpu", "-o", Path("dump")});
  ExpectRefused(RunCli({"run", Path("tiny"), "-p", "x"}), 3, {"tokenizer"});
  convert[5] = "w8a16";
  ExpectRefused(RunCli(convert, {.folder = scratch()}), 3,
                {TinyCheckpoint().filename(), "tokenizer.json", "w8a16", "--quant f16"});
}

}  // namespace
}  // namespace hexlane::e2e
