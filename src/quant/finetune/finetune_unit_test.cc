#include "quant/finetune/finetune_unit.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "interp/gradient/backward.h"
#include "kernels/pack/pack.h"
#include "quant/algorithm/small_decoder.h"
#include "quant/quantize_unit.h"

namespace hexlane {
namespace {

constexpr QuantScheme kFourBit = {.name = "test",
                                  .layers = Scheme::kW4Lpbq32,
                                  .head = Scheme::kW8Channel,
                                  .activations = DType::kF16,
                                  .summary = ""};

// Windows are short and few: longer steps than what suits a text.
FinetuneOptions Options(int epochs, int rank) {
  return {.epochs = epochs, .learning_rate = 0.01, .rank = rank};
}

std::vector<std::vector<int32_t>> Windows(size_t count) {
  std::mt19937 random(3);
  std::vector<std::vector<int32_t>> windows(count);
  for (auto& window : windows)
    for (int i = 0; i < 24; ++i) window.push_back(static_cast<int32_t>(random() % 50));
  return windows;
}

Graph Quantised(const Graph& unit, UnitReport* report = nullptr) {
  Graph graph = unit;
  Result<UnitReport> done = QuantizeUnit(graph, {.options = {.scheme = &kFourBit}});
  if (!done) ADD_FAILURE() << done.error().ToString();
  if (report && done) *report = *std::move(done);
  return graph;
}

// A decoder's layer with the hidden states around it.
struct Layer {
  Graph original = testing::SmallDecoder()[1];
  UnitReport report;
  Graph quantised = Quantised(original, &report);
  DecoderRun inputs, targets;

  explicit Layer(size_t windows) : inputs(Windows(windows)), targets(Windows(windows)) {
    const Graph embed = testing::SmallDecoder()[0];
    EXPECT_TRUE(targets.Advance(embed, {}));
    EXPECT_TRUE(targets.Advance(original, {}));
    EXPECT_TRUE(inputs.Advance(Quantised(embed), {.fake_quantise = true}));
  }

  FinetuneArgs Args(const FinetuneOptions& options, ThreadPool* pool = nullptr) const {
    return {.options = options,
            .original = &original,
            .inputs = &inputs,
            .targets = &targets,
            .vectors_as_f16 = true,
            .pool = pool,
            .progress = {}};
  }
};

// What FinetuneUnit calls the error, computed from outputs, of the windows held out.
double HeldOutError(const Layer& layer) {
  double sum = 0;
  int64_t rows = 0;
  for (size_t window = kHeldOutOf - 1; window < layer.inputs.size(); window += kHeldOutOf) {
    Interpreter interpreter(layer.quantised, {.fake_quantise = true});
    const Result<Bindings> outputs =
        interpreter.Run(layer.inputs.InputsFor(layer.quantised, window));
    const std::vector<float>& got = outputs->find("layers.0.out")->second.floats;
    const std::span<const float> want = layer.targets.hidden(window);
    for (size_t i = 0; i < got.size(); i += 48, ++rows) {
      double error = 0, energy = 0;
      for (size_t j = i; j < i + 48; ++j) {
        error += std::pow(static_cast<double>(got[j]) - want[j], 2);
        energy += std::pow(static_cast<double>(want[j]), 2);
      }
      sum += error / energy;
    }
  }
  return sum / static_cast<double>(rows);
}

class FinetuneUnitTest : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, FinetuneUnitTest, ::testing::Values(0, 4));

TEST_P(FinetuneUnitTest, ErrorOnTextHeldOutFallsByAThird) {
  Layer layer(64);
  const double before = HeldOutError(layer);
  const FinetuneOptions options = Options(8, GetParam());
  const Result<void> done = FinetuneUnit(layer.quantised, layer.Args(options), layer.report);
  ASSERT_TRUE(done) << done.error().ToString();
  EXPECT_LT(HeldOutError(layer), before * 2 / 3);
}

TEST_P(FinetuneUnitTest, ReportsTheErrorsOfTheHeldOutWindows) {
  Layer layer(64);
  const double before = HeldOutError(layer);
  const FinetuneOptions options = Options(2, GetParam());
  ASSERT_TRUE(FinetuneUnit(layer.quantised, layer.Args(options), layer.report));
  ASSERT_TRUE(layer.report.finetune);
  const double after = HeldOutError(layer);
  EXPECT_NEAR(layer.report.finetune->error_before, before, 1e-6 * before);
  EXPECT_NEAR(layer.report.finetune->error_after, after, 1e-6 * after);
  EXPECT_LT(after, before);
}

TEST_P(FinetuneUnitTest, WeightsKeepTheirSchemeAndTheReportTheirNoise) {
  Layer layer(64);
  const std::vector<WeightReport> before = layer.report.weights;
  ASSERT_TRUE(FinetuneUnit(layer.quantised, layer.Args(Options(2, GetParam())), layer.report));
  ASSERT_TRUE(Verify(layer.quantised, GraphStage::kQuantised));
  for (size_t i = 0; i < before.size(); ++i) {
    const WeightReport& weight = layer.report.weights[i];
    const TensorView now =
        layer.quantised.value(layer.quantised.Find(weight.name)).constant->view();
    EXPECT_EQ(now.scheme, before[i].scheme);
    // Trained for the output and no longer to be close to the weights themselves.
    ASSERT_TRUE(weight.snr_db);
    EXPECT_NE(*weight.snr_db, *before[i].snr_db) << weight.name;
    EXPECT_GT(*weight.snr_db, *before[i].snr_db - 6) << weight.name;
  }
}

TEST(FinetuneUnit, AUnitThatTrainingMakesWorseStaysAsItWas) {
  Layer layer(2);
  const Graph before = layer.quantised;
  const FinetuneOptions wild{.epochs = 1, .learning_rate = 1};
  ASSERT_TRUE(FinetuneUnit(layer.quantised, layer.Args(wild), layer.report));
  EXPECT_EQ(layer.report.finetune->error_after, layer.report.finetune->error_before);
  for (size_t i = 0; i < before.values().size(); ++i) {
    const Value &was = before.values()[i], &is = layer.quantised.values()[i];
    if (!was.constant) continue;
    EXPECT_TRUE(std::ranges::equal(was.constant->view().bytes, is.constant->view().bytes));
  }
}

TEST(FinetuneUnit, ThreadsDoNotChangeTheBytes) {
  Layer alone(8), together(8);
  ThreadPool pool(3);
  ASSERT_TRUE(FinetuneUnit(alone.quantised, alone.Args({}), alone.report));
  ASSERT_TRUE(FinetuneUnit(together.quantised, together.Args({}, &pool), together.report));
  for (size_t i = 0; i < alone.quantised.values().size(); ++i) {
    const Value &a = alone.quantised.values()[i], &b = together.quantised.values()[i];
    if (!a.constant) continue;
    EXPECT_TRUE(std::ranges::equal(a.constant->view().bytes, b.constant->view().bytes)) << a.name;
  }
}

TEST(FinetuneUnit, RefusesATextOfOneWindow) {
  Layer layer(1);
  const Result<void> done = FinetuneUnit(layer.quantised, layer.Args({}), layer.report);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Code::kInvalidInput);
  EXPECT_NE(done.error().remedy.find("--calibration"), std::string::npos);
}

TEST(FinetuneUnit, LeavesAUnitWithoutMatricesOfLayersAlone) {
  const Layer layer(2);
  Graph head = Quantised(testing::SmallDecoder()[2]);
  UnitReport report;
  ASSERT_TRUE(FinetuneUnit(head, layer.Args({}), report));
  EXPECT_FALSE(report.finetune);
}

// Along the gradient, the loss Σ y² / 2 of a whole layer changes as the gradient's length says:
// central differences in steps for which float32 and curvature err by less than 1 %.
TEST(GoBack, OfALayerAgreesWithDifferences) {
  Layer layer(1);
  Graph& graph = layer.original;
  const Bindings inputs = layer.inputs.InputsFor(graph, 0);
  const auto loss = [&](std::vector<float>* output) {
    Interpreter interpreter(graph, {});
    const Result<Bindings> outputs = interpreter.Run(inputs);
    const std::vector<float>& y = outputs->find("layers.0.out")->second.floats;
    if (output) *output = y;
    double sum = 0;
    for (const float value : y) sum += 0.5 * value * value;
    return sum;
  };
  std::vector<float> y;
  loss(&y);
  for (const char* name : {"q.weight", "k.weight", "v.weight", "o.weight", "gate.weight", "up.bias",
                           "down.weight", "attn_norm.weight", "ffn_norm.weight"}) {
    const ValueId id = graph.Find(name);
    Interpreter interpreter(graph, {});
    const Result<RunValues> values = interpreter.Trace(inputs);
    ASSERT_TRUE(values);
    std::vector<float> gradient;
    GoBack({.graph = &graph, .interpreter = &interpreter, .values = &*values, .wanted = {id}}, y,
           [&](ValueId, std::span<const float> g) { gradient.assign(g.begin(), g.end()); });
    double length = 0;
    for (const float g : gradient) length += static_cast<double>(g) * g;
    length = std::sqrt(length);
    const Tensor before = *graph.value(id).constant;
    constexpr double kStep = 2e-3;
    const auto moved = [&](double by) {
      std::vector<float> weights = ToFloats(before.view());
      for (size_t i = 0; i < weights.size(); ++i)
        weights[i] += static_cast<float>(by * gradient[i] / length);
      graph.value(id).constant = Tensor::FromFloats(std::move(weights), before.shape());
      return loss(nullptr);
    };
    const double slope = (moved(kStep) - moved(-kStep)) / (2 * kStep);
    graph.value(id).constant = before;
    EXPECT_NEAR(slope, length, 0.01 * length) << name;
  }
}

}  // namespace
}  // namespace hexlane
