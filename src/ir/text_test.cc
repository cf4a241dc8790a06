#include "ir/text.h"

#include <gmock/gmock.h>

#include "op/dims.h"

namespace hexlane {
namespace {

using testing::HasSubstr;

Result<Tensor> Weight8x4(std::string_view) {
  return Tensor::FromFloats(std::vector<float>(32), {8, 4});
}

constexpr std::string_view kSmall =
    "graph unit\n"
    "input x f32[rows, 4] @u16(0.001, -300)\n"
    "const w f32[8, 4]\n"
    "y f32[rows, 8] @f16 = Linear(x, w)\n"
    "z f32[rows, 8] = Silu(y)\n"
    "output z\n";

TEST(GraphText, PrintsWhatItParsed) {
  const Result<Graph> graph = Parse(kSmall, "small", Weight8x4);
  ASSERT_TRUE(graph) << graph.error().ToString();
  EXPECT_EQ(Print(*graph), kSmall);
}

TEST(GraphText, KeepsAttributesAndTheSecondOutputOfAttention) {
  Graph graph("attention");
  const ValueId q = graph.AddInput("q", {kRows, 8}), k = graph.AddInput("k", {kRows, 4});
  const ValueId past = graph.AddInput("past", {kPast, 4});
  const ValueId len = graph.AddInput("past_len", {1}, DType::kI32);
  const AttentionAttrs attrs{.heads = 2, .kv_heads = 1, .head_dim = 4, .scale = 0.1f, .window = 8};
  graph.MarkOutput(*graph.Add(OpKind::kAttention, "a", {q, k, k, past, past, len}, attrs));
  const std::string text = Print(graph);
  EXPECT_THAT(text, HasSubstr("a f32[rows, 8], a.scores f32[2, rows, context] = Attention("));
  const Result<Graph> parsed = Parse(text, "text", Weight8x4);
  ASSERT_TRUE(parsed) << parsed.error().ToString();
  EXPECT_EQ(std::get<AttentionAttrs>(parsed->nodes()[0].attrs), attrs);
  EXPECT_EQ(Print(*parsed), text);
}

struct BadText {
  std::string_view from, to, message;
};

class GraphTextErrors : public testing::TestWithParam<BadText> {};

TEST_P(GraphTextErrors, NameTheLine) {
  std::string text(kSmall);
  const size_t at = text.find(GetParam().from);
  ASSERT_NE(at, text.npos);
  text.replace(at, GetParam().from.size(), GetParam().to);
  const Result<Graph> graph = Parse(text, "small", Weight8x4);
  ASSERT_FALSE(graph);
  EXPECT_THAT(graph.error().ToString(), HasSubstr(std::string(GetParam().message)));
}

INSTANTIATE_TEST_SUITE_P(
    All, GraphTextErrors,
    testing::Values(
        BadText{"Linear(x, w)", "Linea(x, w)", "unknown op"},
        BadText{"Linear(x, w)", "Linear(v, w)", "'v' is not defined (at small:4)"},
        BadText{"Linear(x, w)", "Linear(x)", "has 1 inputs"},
        BadText{"Linear(x, w)", "Linear(x, w) eps=1", "no attribute 'eps'"},
        BadText{"Silu(y)", "Silu(y) left", "bad attribute"},
        BadText{"f32[rows, 4]", "f32[rows, 5]", "does not fit input"},
        BadText{"f32[8, 4]", "f32[8, 5]", "differs from its stored weight"},
        BadText{"f32[8, 4]", "w9[8, 4]", "unknown type"},
        BadText{"const w", "const x", "is defined twice"},
        BadText{"(0.001, -300)", "(0.001, -3x)", "not a number"},
        BadText{"z f32[rows, 8]", "z f32[rows, 9]", "does not fit its op"},
        BadText{"@u16(", "@i32(", "(at small:2): want u8, i8, u16, i16, f16 or f32, got i32"},
        BadText{"@f16", "@bf16", "(at small:4): want u8, i8, u16, i16, f16 or f32, got bf16"},
        BadText{"@f16", "@f64", "(at small:4): want u8, i8, u16, i16, f16 or f32, got f64"},
        BadText{"@f16", "@bool", "(at small:4): want u8, i8, u16, i16, f16 or f32, got bool"},
        BadText{"@u16(0.001, -300)", "@u64(0.001, -300)",
                "(at small:2): want u8, i8, u16, i16, f16 or f32, got u64"},
        BadText{"@u16(0.001, -300)", "@i64(0.001, -300)",
                "(at small:2): want u8, i8, u16, i16, f16 or f32, got i64"},
        BadText{"@u16(0.001, -300)", "@u16", "scale (at small:2)"},
        BadText{"(0.001,", "(0,", "scale (at small:2)"},
        BadText{"(0.001,", "(-1,", "scale (at small:2)"},
        BadText{"(0.001,", "(inf,", "scale (at small:2)"},
        BadText{"(0.001,", "(nan,", "scale (at small:2)"},
        BadText{"-300)", "-2147483648)", "offset (at small:2)"},
        BadText{"output z", "output q", "'q' is not defined"}));

TEST(GraphVerify, WantsAnEncodingForEveryActivationOnceQuantised) {
  const Result<Graph> graph = Parse(kSmall, "small", Weight8x4);
  ASSERT_TRUE(graph);
  const Result<void> verified = Verify(*graph, GraphStage::kQuantised);
  ASSERT_FALSE(verified);
  EXPECT_THAT(verified.error().what, HasSubstr("'z' has no encoding"));
}

}  // namespace
}  // namespace hexlane
