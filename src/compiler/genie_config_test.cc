#include "compiler/genie_config.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/json.h"
#include "models/rope_scaling.h"
#include "op/dims.h"

namespace hexlane {
namespace {

std::vector<float> Frequencies(double theta, int half) {
  std::vector<float> frequencies;
  for (int i = 0; i < half; ++i)
    frequencies.push_back(static_cast<float>(std::pow(theta, -static_cast<double>(i) / half)));
  return frequencies;
}

TEST(GenieConfig, FindsTheRotaryBaseOfPlainFrequencies) {
  for (const double theta : {10000.0, 500000.0, 12345.678})
    for (const int half : {8, 32, 64}) {
      const std::optional<GenieRope> rope = FitRope(Frequencies(theta, half));
      ASSERT_TRUE(rope.has_value()) << theta << " " << half;
      EXPECT_NEAR(rope->theta, theta, theta * 1e-5);
      EXPECT_EQ(rope->factor, 1);
    }
  EXPECT_EQ(FitRope(std::vector<float>{0.5f, 0.25f}), std::nullopt);
}

TEST(GenieConfig, FindsTheStretchOfLlama3) {
  for (const GenieRope& want :
       {GenieRope{500000, 8, 8192}, GenieRope{500000, 32, 8192}, GenieRope{10000, 8, 64}})
    for (const int64_t dim : {16, 64, 128}) {
      const Json parameters = {{"rope_type", "llama3"},
                               {"factor", want.factor},
                               {"low_freq_factor", 1},
                               {"high_freq_factor", 4},
                               {"original_max_position_embeddings", want.original_context}};
      const auto made = ScaledFrequencies(parameters, want.theta, dim, 0, "test");
      EXPECT_EQ(FitRope(made->inv_freq), want) << want.theta << " " << dim;
    }
  std::vector<float> unknown = Frequencies(500000, 32);
  for (size_t i = 20; i < unknown.size(); ++i) unknown[i] /= 8;
  EXPECT_EQ(FitRope(unknown), std::nullopt);
}

Graph Rotating(const std::vector<float>& frequencies, float scale) {
  Graph unit("layers.0");
  const auto half = static_cast<int64_t>(frequencies.size());
  const ValueId x = unit.AddInput("x", {4, 2 * half});
  const ValueId past_len = unit.AddInput("past_len", {1}, DType::kI32);
  const ValueId table = unit.AddConstant("inv_freq", Tensor::FromFloats(frequencies, {half}));
  const RopeAttrs attrs{.head_dim = 2 * half, .scale = scale};
  unit.MarkOutput(*unit.Add(OpKind::kRope, "layers.0.q", {x, past_len, table}, attrs));
  return unit;
}

TEST(GenieConfig, RefusesPositionsThatGenieCannotMake) {
  GenieConfig config;
  EXPECT_TRUE(ReadPositions(Rotating(Frequencies(10000, 8), 1), config));
  EXPECT_EQ(config.rope, GenieRope{});
  const auto reason = [&](const Graph& unit) {
    const Result<void> read = ReadPositions(unit, config);
    return read ? std::string() : read.error().what;
  };
  EXPECT_NE(reason(Rotating(Frequencies(500000, 8), 1)).find("other rotary frequencies"),
            std::string::npos);
  EXPECT_NE(reason(Rotating(Frequencies(10000, 8), 1.5f)).find("layers.0.q has rotary"),
            std::string::npos);
}

TEST(GenieConfig, RefusesSlidingWindows) {
  Graph unit("layers.0");
  std::vector<ValueId> inputs;
  for (const char* name : {"q", "k", "v"}) inputs.push_back(unit.AddInput(name, {kRows, 8}));
  for (const char* name : {"past_k", "past_v"}) inputs.push_back(unit.AddInput(name, {kPast, 8}));
  inputs.push_back(unit.AddInput("past_len", {1}, DType::kI32));
  const AttentionAttrs attrs{.heads = 1, .kv_heads = 1, .head_dim = 8, .window = 4};
  unit.MarkOutput(*unit.Add(OpKind::kAttention, "layers.0.attn", inputs, attrs));
  GenieConfig config;
  const Result<void> read = ReadPositions(unit, config);
  ASSERT_FALSE(read.has_value());
  EXPECT_NE(read.error().what.find("layers.0.attn sees a sliding window"), std::string::npos);
}

TEST(GenieConfig, TextsSayWhatTheModelIs) {
  GenieConfig config{.vocab = 100, .context = 64, .head_dim = 16, .bos_id = 1, .eos_ids = {2, 7}};
  config.target = *FindTarget("SM8550");
  config.binaries = {"a.bin", "b.bin"};
  config.rope = GenieRope{500000, 8, 8192};
  const Json dialog = Json::parse(GenieConfigText(config)).at("dialog");
  EXPECT_EQ(dialog.at("context"), (Json{{"version", 1},
                                        {"size", 64},
                                        {"n-vocab", 100},
                                        {"bos-token", 1},
                                        {"eos-token", {2, 7}}}));
  const Json& engine = dialog.at("engine");
  EXPECT_EQ(engine.at("backend").at("QnnHtp").at("kv-dim"), 16);
  EXPECT_EQ(engine.at("model").at("binary").at("ctx-bins"), (Json{"a.bin", "b.bin"}));
  EXPECT_EQ(engine.at("model").at("positional-encoding").at("rope-theta"), 500000);
  EXPECT_EQ(engine.at("model").at("positional-encoding").at("rope-dim"), 8);
  const Json& scaling = engine.at("model").at("positional-encoding").at("rope-scaling");
  EXPECT_EQ(scaling.at("original-max-position-embeddings"), 8192);
  EXPECT_EQ(scaling.at("rope-type"), "llama3");
  const Json htp = Json::parse(HtpConfigText(config));
  EXPECT_EQ(htp.at("devices").at(0).at("soc_model"), 43);
  EXPECT_EQ(htp.at("devices").at(0).at("dsp_arch"), "v73");
  EXPECT_EQ(htp.at("context").at("weight_sharing_enabled"), true);
  EXPECT_EQ(engine.at("backend").at("QnnHtp").at("poll"), true);
  config.emulator = true;
  EXPECT_FALSE(Json::parse(HtpConfigText(config)).contains("context"));
}

}  // namespace
}  // namespace hexlane
