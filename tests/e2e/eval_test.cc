// hexlane eval: perplexity, distance from another stage, multiple choice.
#include <gmock/gmock.h>

#include <cmath>
#include <cstring>

#include "models.h"

namespace hexlane::e2e {
namespace {

using testing::HasSubstr;

// Made by tests/data/eval/make_eval.py, which runs the tiny checkpoint in NumPy.
Json Golden() { return ReadJsonFile(TestData() / "eval/eval.json"); }

// Logits agree with NumPy's within 2e-4 (tests/data/README.md): a log-likelihood within twice that
// for each token.
constexpr double kTokenTolerance = 4e-4;

class Eval : public ScratchTest {
 protected:
  Json Good(Arguments arguments) const {
    arguments.insert(arguments.begin(), "eval");
    arguments.push_back("--json");
    const CliResult result = RunCli(arguments);
    EXPECT_EQ(result.exit_code, 0) << result.err << result.out;
    return result.json();
  }
  std::string TextFile() const {
    WriteFile(scratch() / "text", Golden()["perplexity"]["text"].get<std::string>());
    return Path("text");
  }
  std::string Questions() const {
    const Json questions = Golden()["questions"]["questions"];
    std::string lines;
    for (const Json& question : questions) lines += question.dump() + "\n";
    WriteFile(scratch() / "questions.jsonl", lines);
    return Path("questions.jsonl");
  }
  // Log-probabilities [positions][vocab] of a stage, by way of dump.
  std::vector<std::vector<double>> LogProbs(const std::string& model, const std::string& stage,
                                            const std::string& ids) const {
    const CliResult dump =
        RunCli({"dump", model, "--stage", stage, "--ids", ids, "-o", Path("dump")});
    EXPECT_EQ(dump.exit_code, 0) << dump.err;
    const std::string file = ReadFile(scratch() / "dump/logits.npy");
    const size_t positions = static_cast<size_t>(std::count(ids.begin(), ids.end(), ',')) + 1;
    constexpr size_t kVocab = 256;
    std::vector<float> logits(positions * kVocab);
    std::memcpy(logits.data(), file.data() + file.size() - logits.size() * sizeof(float),
                logits.size() * sizeof(float));
    std::vector<std::vector<double>> rows(positions);
    for (size_t i = 0; i < logits.size(); ++i) rows[i / kVocab].push_back(logits[i]);
    for (auto& row : rows) {
      double sum = 0;
      for (const double x : row) sum += std::exp(x);
      for (double& x : row) x -= std::log(sum);
    }
    return rows;
  }
};

TEST_F(Eval, PerplexityOfTheFloatStageIsNumPys) {
  const Json golden = Golden()["perplexity"];
  const Json got = Good({CopyTinyModel("model"), "--stage", "float", "--text", TextFile(),
                         "--window", golden["window"].dump()});
  EXPECT_EQ(got["tokens"], golden["tokens"]);
  EXPECT_NEAR(std::log(got["perplexity"].get<double>()),
              std::log(golden["perplexity"].get<double>()), kTokenTolerance);
  EXPECT_FALSE(got.contains("against"));
}

TEST_F(Eval, LogLikelihoodsAndAccuraciesAreNumPys) {
  const Json golden = Golden()["questions"];
  const Json got =
      Good({CopyTinyModel("model"), "--stage", "float", "--multiple-choice", Questions()});
  ASSERT_EQ(got["questions"], golden["questions"].size());
  for (size_t q = 0; q < golden["questions"].size(); ++q) {
    const std::vector<double> want = golden["questions"][q]["log_likelihoods"];
    const std::vector<double> have = got["log_likelihoods"][q];
    ASSERT_EQ(have.size(), want.size());
    for (size_t c = 0; c < want.size(); ++c) {
      const std::string choice = golden["questions"][q]["choices"][c];
      EXPECT_NEAR(have[c], want[c], kTokenTolerance * static_cast<double>(choice.size() + 1));
    }
  }
  for (const std::string name : {"acc", "acc_norm", "acc_bytes"}) {
    EXPECT_DOUBLE_EQ(got[name], golden[name]["value"]) << name;
    EXPECT_NEAR(got[name + "_stderr"], golden[name]["stderr"], 1e-12) << name;
  }
}

TEST_F(Eval, TheComparisonIsThatOfTheDumpedLogits) {
  const std::string package = TinyPackage("tiny", "w4a16");
  const std::string text = Golden()["perplexity"]["text"].get<std::string>().substr(0, 16);
  WriteFile(scratch() / "short", text);
  const Json got = Good({package, "--stage", "quant", "--against", "float", "--text", Path("short"),
                         "--window", "16"});
  std::string ids;
  for (const char c : text) {
    if (!ids.empty()) ids += ',';
    ids += std::to_string(c);
  }
  const auto p = LogProbs(package, "float", ids), q = LogProbs(package, "quant", ids);
  double kl = 0, greatest = 0, increase = 0, same = 0;
  for (size_t i = 8; i < 15; ++i) {
    double sum = 0;
    for (size_t v = 0; v < p[i].size(); ++v) sum += std::exp(p[i][v]) * (p[i][v] - q[i][v]);
    kl += sum / 7;
    greatest = std::max(greatest, sum);
    const auto target = static_cast<size_t>(text[i + 1]);
    increase += (p[i][target] - q[i][target]) / 7;
    same += std::max_element(p[i].begin(), p[i].end()) - p[i].begin() ==
            std::max_element(q[i].begin(), q[i].end()) - q[i].begin();
  }
  const Json& against = got["against"];
  EXPECT_EQ(got["tokens"], 7);
  EXPECT_GT(kl, 1e-4) << "there is something to measure";
  EXPECT_NEAR(against["kl_mean"], kl, 1e-6);  // float32 sums of a few dozen ulps
  EXPECT_NEAR(against["kl_max"], greatest, 1e-6);
  EXPECT_NEAR(against["log_perplexity_increase"], increase, 1e-6);
  EXPECT_DOUBLE_EQ(against["top1"], same / 7);
  EXPECT_NEAR(std::log(got["perplexity"].get<double>() / against["perplexity"].get<double>()),
              against["log_perplexity_increase"].get<double>(), 1e-9);
}

TEST_F(Eval, AReferenceFileGivesTheSameFiguresAndIsReused) {
  const std::string package = TinyPackage("tiny", "w4a16");
  const Arguments common = {package, "--text", TextFile(), "--window", "48"};
  const auto with = [&](Arguments more) {
    more.insert(more.begin(), common.begin(), common.end());
    return Good(more)["against"];
  };
  const Json exact = with({"--against", "float"});
  const Json written = with({"--reference", Path("reference")});
  EXPECT_EQ(written["stage"], "float");
  EXPECT_EQ(written["top1"], exact["top1"]);
  EXPECT_EQ(written["log_perplexity_increase"], exact["log_perplexity_increase"]);
  // Of log-probabilities down to -32 half a float16's spacing is 2^-7.
  EXPECT_NEAR(written["kl_mean"], exact["kl_mean"],
              0x1p-7 * std::sqrt(2 * exact["kl_mean"].get<double>()) + 0x1p-15);
  fs::remove_all(scratch() / "tiny.model");  // now only the file can answer
  EXPECT_EQ(with({"--reference", Path("reference")}), written);
  ExpectRefused(RunCli({"eval", package, "--text", TextFile(), "--window", "32", "--reference",
                        Path("reference")}),
                3, {Path("reference"), "scored_tokens"});
  WriteFile(scratch() / "reference", "something else");
  ExpectRefused(RunCli({"eval", package, "--text", TextFile(), "--window", "48", "--reference",
                        Path("reference")}),
                3, {Path("reference"), "not a reference"});
}

TEST_F(Eval, EveryStageOfAPackageAnswersTextsAndQuestions) {
  const std::string package = TinyPackage("tiny");
  for (const std::string stage : {"float", "quant", "cpu"}) {
    const Json text = Good(
        {package, "--stage", stage, "--text", TextFile(), "--window", "48", "--against", "quant"});
    EXPECT_LT(text["against"]["kl_mean"].get<double>(), 0.01) << stage;  // f16 weights
    const Json choice = Good({package, "--stage", stage, "--multiple-choice", Questions()});
    EXPECT_EQ(choice["stage"], stage);
    EXPECT_DOUBLE_EQ(choice["acc"], Golden()["questions"]["acc"]["value"]) << stage;
  }
}

TEST_F(Eval, RefusesWhatMakesNoSense) {
  const std::string model = CopyTinyModel("model");
  const std::string text = TextFile(), questions = Questions();
  ExpectRefused(RunCli({"eval", model}), 2, {"--text", "--multiple-choice"});
  ExpectRefused(RunCli({"eval", model, "--text", text, "--multiple-choice", questions}), 2,
                {"--text", "--multiple-choice"});
  ExpectRefused(RunCli({"eval", model, "--multiple-choice", questions, "--against", "float"}), 2,
                {"--against"});
  ExpectRefused(RunCli({"eval", model, "--multiple-choice", questions}), 2, {"cpu", "package"});
  const Arguments float_text = {"eval", model, "--stage", "float", "--text", text};
  const auto with = [&](const Arguments& more) {
    Arguments all = float_text;
    all.insert(all.end(), more.begin(), more.end());
    return RunCli(all);
  };
  ExpectRefused(with({"--window", "48", "--against", "cpu"}), 2, {"cpu", "float or quant"});
  ExpectRefused(with({"--window", "48", "--against", "quant"}), 2, {"quant", "package"});
  ExpectRefused(with({"--window", "48", "--against", "quant", "--reference", Path("r")}), 2,
                {"reference"});
  WriteFile(scratch() / "bad.jsonl", "{\"context\": \"x\", \"choices\": [\"a\", \"b\"]}\n");
  ExpectRefused(RunCli({"eval", model, "--stage", "float", "--multiple-choice", Path("bad.jsonl")}),
                3, {"bad.jsonl: line 1", "answer"});
}

}  // namespace
}  // namespace hexlane::e2e
