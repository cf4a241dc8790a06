// Imported checkpoints, run by the reference evaluator, against Hugging Face's transformers
// (tests/data/README.md).
#include <gmock/gmock.h>

#include <cmath>
#include <cstring>
#include <filesystem>

#include "base/file.h"
#include "base/json.h"
#include "interp/decoder_run.h"
#include "models/decoder.h"

namespace hexlane {
namespace {

const std::string kData = HEXLANE_TEST_DATA;

std::vector<float> ReadFloatFile(const std::string& path) {
  const auto file = MappedFile::Open(path);
  if (!file) {
    ADD_FAILURE() << file.error().ToString();
    return {};
  }
  std::vector<float> values((*file)->bytes().size() / sizeof(float));
  std::memcpy(values.data(), (*file)->bytes().data(), values.size() * sizeof(float));
  return values;
}

double Cosine(std::span<const float> a, std::span<const float> b) {
  double ab = 0, aa = 0, bb = 0;
  for (size_t i = 0; i < a.size(); ++i)
    ab += double{a[i]} * b[i], aa += double{a[i]} * a[i], bb += double{b[i]} * b[i];
  return ab / std::sqrt(aa * bb);
}

std::shared_ptr<const Decoder> OpenDecoder(const std::string& path) {
  auto checkpoint = Checkpoint::Open(path);
  if (!checkpoint) {
    ADD_FAILURE() << checkpoint.error().ToString();
    return nullptr;
  }
  auto decoder = Decoder::Open(std::shared_ptr<const Checkpoint>(std::move(*checkpoint)));
  if (!decoder) {
    ADD_FAILURE() << decoder.error().ToString();
    return nullptr;
  }
  return *decoder;
}

struct FloatRun {
  std::vector<std::vector<float>>
      last_hidden;                // per unit but the head: its output at the last position
  std::vector<float> final_norm;  // at the last position
  std::vector<float> logits;      // [positions, vocab]
};

FloatRun RunFloat(const Decoder& decoder, const std::vector<int32_t>& ids) {
  ThreadPool pool(DefaultThreads());
  DecoderRun run({ids});
  FloatRun result;
  const auto hidden_size = static_cast<size_t>(decoder.config().hidden);
  const auto observe = [&](const Value& value, std::span<const float> values) {
    if (value.name != "final_norm") return;
    const auto last = values.last(hidden_size);
    result.final_norm.assign(last.begin(), last.end());
  };
  const auto take_logits = [&](size_t, std::vector<float> logits) -> Result<void> {
    result.logits = std::move(logits);
    return {};
  };
  for (int unit = 0; unit < decoder.unit_count(); ++unit) {
    const Result<Graph> graph = decoder.Build(unit);
    const bool head = unit == decoder.unit_count() - 1;
    Result<void> done;
    if (graph)
      done = run.Advance(*graph, {.pool = &pool}, observe, head ? take_logits : DecoderRun::Sink());
    if (!graph || !done) {
      ADD_FAILURE() << (graph ? done.error() : graph.error()).ToString();
      return result;
    }
    const auto last = run.hidden(0).last(hidden_size);
    if (!head) result.last_hidden.emplace_back(last.begin(), last.end());
  }
  return result;
}

int32_t ArgMax(std::span<const float> values) {
  return static_cast<int32_t>(std::max_element(values.begin(), values.end()) - values.begin());
}

// `greedy` continues `ids`: feeding both at once must predict each of its tokens.
void ExpectGreedy(const Decoder& decoder, std::vector<int32_t> ids,
                  const std::vector<int32_t>& greedy) {
  const size_t prompt = ids.size();
  ids.insert(ids.end(), greedy.begin(), greedy.end());
  const FloatRun run = RunFloat(decoder, ids);
  const auto vocab = static_cast<size_t>(decoder.config().vocab);
  ASSERT_EQ(run.logits.size(), ids.size() * vocab);
  for (size_t i = 0; i < greedy.size(); ++i) {
    const auto row = std::span(run.logits).subspan((prompt - 1 + i) * vocab, vocab);
    EXPECT_EQ(ArgMax(row), greedy[i]) << "token " << i;
  }
}

class Checkpoints : public testing::TestWithParam<std::string> {};

TEST_P(Checkpoints, MatchTransformers) {
  const std::string folder = kData + "/checkpoints/" + GetParam();
  const auto decoder = OpenDecoder(folder);
  ASSERT_NE(decoder, nullptr);
  const Json expected = Json::parse(*ReadTextFile(folder + "/expected.json"));
  const std::vector<int32_t> ids = expected["input_ids"];
  const FloatRun run = RunFloat(*decoder, ids);

  const std::vector<float> logits = ReadFloatFile(folder + "/logits.f32");
  ASSERT_EQ(run.logits.size(), logits.size());
  EXPECT_GE(Cosine(run.logits, logits), 0.999999);
  const float tolerance = 2e-4f;  // tests/data/README.md
  for (size_t i = 0; i < logits.size(); ++i) ASSERT_NEAR(run.logits[i], logits[i], tolerance) << i;

  const std::vector<float> hidden = ReadFloatFile(folder + "/hidden.f32");
  std::vector<float> got;
  for (const auto& row : run.last_hidden) got.insert(got.end(), row.begin(), row.end());
  got.insert(got.end(), run.final_norm.begin(), run.final_norm.end());
  ASSERT_EQ(got.size(), hidden.size());
  for (size_t i = 0; i < hidden.size(); ++i) ASSERT_NEAR(got[i], hidden[i], tolerance) << i;
  ExpectGreedy(*decoder, ids, expected["greedy"]["ids"]);
}

INSTANTIATE_TEST_SUITE_P(Llama, Checkpoints,
                         testing::Values("llama-gqa", "llama-tied-f32", "llama-rope-linear",
                                         "llama-rope-scaling-llama3", "llama-rope-yarn",
                                         "llama-sharded"));

INSTANTIATE_TEST_SUITE_P(Qwen, Checkpoints, testing::Values("qwen2", "qwen3"));

// Against float64 NumPy on the values that the integers stand for; tests/data's make_quantised.py,
// make_k_quants.py.
class QuantisedCheckpoints : public testing::TestWithParam<std::string> {};

TEST_P(QuantisedCheckpoints, GiveTheLogitsOfTheirDequantisedModel) {
  const std::string folder = kData + "/quantised_checkpoints/" + GetParam();
  const bool gguf = std::filesystem::exists(folder + "/model.gguf");
  const auto decoder = OpenDecoder(gguf ? folder + "/model.gguf" : folder);
  ASSERT_NE(decoder, nullptr);
  const std::vector<int32_t> ids =
      Json::parse(*ReadTextFile(folder + "/expected.json"))["input_ids"];
  const FloatRun run = RunFloat(*decoder, ids);
  const std::vector<float> logits = ReadFloatFile(folder + "/logits.f32");
  ASSERT_EQ(run.logits.size(), logits.size());
  EXPECT_GT(Cosine(run.logits, logits), 0.99999);
}

INSTANTIATE_TEST_SUITE_P(Layouts, QuantisedCheckpoints,
                         testing::Values("awq-4bit-128", "compressed-4bit-64",
                                         "compressed-4bit-channel", "gptq-4bit-32",
                                         "gptq-4bit-channel", "gptq-8bit-128", "gptq-act-order",
                                         "k-quants"));

TEST(SmolLm2, GgufMatchesTransformers) {
  const auto decoder = OpenDecoder(kData + "/../../.assets/SmolLM2-135M-Instruct.Q4_1.gguf");
  ASSERT_NE(decoder, nullptr) << "run tools/setup.sh test";
  const Json cases = Json::parse(*ReadTextFile(kData + "/smollm2/cases.json"))["cases"];
  for (const Json& one : cases) {
    const std::string name = one["name"];
    SCOPED_TRACE(name);
    // One run over prompt and continuation: causal, so the prompt's last row is as if alone.
    std::vector<int32_t> ids = one["input_ids"];
    const size_t prompt = ids.size();
    const std::vector<int32_t> greedy = one["greedy"]["ids"];
    ids.insert(ids.end(), greedy.begin(), greedy.end());
    const FloatRun run = RunFloat(*decoder, ids);
    const std::vector<float> logits = ReadFloatFile(kData + "/smollm2/" + name + ".logits.f32");
    const auto row = [&](size_t i) {
      return std::span(run.logits).subspan(i * logits.size(), logits.size());
    };
    EXPECT_GE(Cosine(row(prompt - 1), logits), 0.999999);
    for (size_t i = 0; i < greedy.size(); ++i)
      EXPECT_EQ(ArgMax(row(prompt - 1 + i)), greedy[i]) << "token " << i;
  }
}

TEST(Decoder, UnknownArchitectureNamesTheKnownOnes) {
  auto checkpoint = Checkpoint::Open(kData + "/checkpoints/gemma2");
  ASSERT_TRUE(checkpoint) << checkpoint.error().ToString();
  const auto decoder = Decoder::Open(std::shared_ptr<const Checkpoint>(std::move(*checkpoint)));
  ASSERT_FALSE(decoder);
  EXPECT_EQ(decoder.error().code, Code::kUnsupported);
  EXPECT_THAT(decoder.error().ToString(), testing::HasSubstr("Gemma2ForCausalLM"));
  EXPECT_THAT(decoder.error().ToString(), testing::HasSubstr("LlamaForCausalLM"));
}

}  // namespace
}  // namespace hexlane
