#include "backends/cpu/tape/tape.h"

#include <gtest/gtest.h>

namespace hexlane {
namespace {

Tape Sample() {
  Tape tape{.buffers = {8, 16}, .input = -1, .output = 1};
  tape.steps.push_back({.op = TapeOp::kEmbedding, .name = "e", .out = 0, .weights = {"table"}});
  tape.steps.push_back({.op = TapeOp::kRmsNorm,
                        .name = "n",
                        .in = {0},
                        .out = 0,
                        .weights = {"w"},
                        .attrs = RmsNormAttrs{.eps = 0.25f}});
  tape.steps.push_back({.op = TapeOp::kLinear,
                        .name = "l",
                        .in = {0},
                        .out = 1,
                        .weights = {"w", "b"},
                        .accumulate = true});
  tape.steps.push_back({.op = TapeOp::kAttention,
                        .name = "a",
                        .in = {0, 0, 0},
                        .out = 0,
                        .attrs = AttentionAttrs{.heads = 2, .kv_heads = 1, .head_dim = 4},
                        .k_encoding = Encoding{DType::kU8, 0.5f, -128}});
  return tape;
}

TEST(Tape, SurvivesJson) {
  const Json json = ToJson(Sample());
  const Result<Tape> back = TapeFromJson(json, "tape");
  ASSERT_TRUE(back) << back.error().ToString();
  EXPECT_EQ(ToJson(*back), json);
  EXPECT_EQ(std::get<RmsNormAttrs>(back->steps[1].attrs).eps, 0.25f);
  EXPECT_EQ(back->steps[3].k_encoding, Sample().steps[3].k_encoding);
}

// Each changes one thing that the reader must notice.
TEST(Tape, RefusesWhatItCannotRun) {
  const std::pair<const char*, Json> patches[] = {{"/version", 2},
                                                  {"/activation_bits", 4},
                                                  {"/buffers", Json::array()},
                                                  {"/buffers/0", 0},
                                                  {"/buffers/0", 1 << 30},
                                                  {"/input", 2},
                                                  {"/output", -1},
                                                  {"/steps", Json::array()},
                                                  {"/steps/0/op", "jump"},
                                                  {"/steps/0/out", 2},
                                                  {"/steps/1/in", {0, 1}},
                                                  {"/steps/1/in/0", -1},
                                                  {"/steps/1/in/0", "x"},
                                                  {"/steps/1/eps", "x"},
                                                  {"/steps/1/eps", 1e206},
                                                  {"/steps/1/accumulate", true},
                                                  {"/steps/2/weights", Json::array()},
                                                  {"/steps/2/weights/0", 5},
                                                  {"/steps/3/k_encoding/dtype", "f32"},
                                                  {"/steps/3/k_encoding/scale", 0},
                                                  {"/steps/3/k_encoding/offset", 1e9}};
  for (const auto& [pointer, value] : patches) {
    Json json = ToJson(Sample());
    json[Json::json_pointer(pointer)] = value;
    EXPECT_FALSE(TapeFromJson(json, "tape")) << pointer << " = " << value;
  }
  EXPECT_FALSE(TapeFromJson(Json("text"), "tape"));
}

}  // namespace
}  // namespace hexlane
