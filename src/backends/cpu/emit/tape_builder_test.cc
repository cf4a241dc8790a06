#include "backends/cpu/emit/tape_builder.h"

#include <gmock/gmock.h>

#include "op/dims.h"

namespace hexlane {
namespace {

Tensor Weight(Shape shape) {
  return Tensor::FromFloats(std::vector<float>(static_cast<size_t>(shape.elements())), shape);
}

// Adds nodes whose failure would be a mistake of the test.
class Builder {
 public:
  explicit Builder(std::string name) : graph(std::move(name)) {}
  ValueId Add(OpKind op, std::string name, std::vector<ValueId> inputs, Attrs attrs = {}) {
    auto id = graph.Add(op, std::move(name), std::move(inputs), attrs);
    CHECK(id.has_value());
    return *id;
  }
  ValueId Linear(std::string name, ValueId x, int64_t n) {
    const ValueId w = graph.AddConstant(name + ".w", Weight({n, graph.value(x).shape.last()}));
    return Add(OpKind::kLinear, name, {x, w});
  }
  Graph graph;
};

Graph EmbedUnit() {
  Builder b("embed");
  const ValueId ids = b.graph.AddInput("ids", {kRows}, DType::kI32);
  const ValueId table = b.graph.AddConstant("table", Weight({32, 8}));
  b.graph.MarkOutput(b.Add(OpKind::kEmbedding, "embed.out", {ids, table}));
  return std::move(b.graph);
}

Graph LayerUnit() {
  Builder b("layers.0");
  Graph& g = b.graph;
  const ValueId x = g.AddInput("embed.out", {kRows, 8});
  const ValueId norm_w = g.AddConstant("norm.w", Weight({8}));
  const ValueId freq = g.AddConstant("freq", Weight({4}));
  const ValueId past = g.AddInput("past_len", {1}, DType::kI32);
  const ValueId norm = b.Add(OpKind::kRmsNorm, "norm", {x, norm_w}, RmsNormAttrs{.eps = 0.5f});
  const ValueId q = b.Linear("q", norm, 16), k = b.Linear("k", norm, 8), v = b.Linear("v", norm, 8);
  const RopeAttrs rope{.head_dim = 8};
  const ValueId qr = b.Add(OpKind::kRope, "q_rope", {q, past, freq}, rope);
  const ValueId kr = b.Add(OpKind::kRope, "k_rope", {k, past, freq}, rope);
  const ValueId pk = g.AddInput("past_k", {kPast, 8}), pv = g.AddInput("past_v", {kPast, 8});
  const ValueId a = b.Add(OpKind::kAttention, "attn", {qr, kr, v, pk, pv, past},
                          AttentionAttrs{.heads = 2, .kv_heads = 1, .head_dim = 8});
  g.value(kr).encoding = Encoding{DType::kU8, 0.5f, -128};
  g.value(v).encoding = Encoding{DType::kU16, 0.5f, -32768};
  const ValueId h = b.Add(OpKind::kAdd, "h", {x, b.Linear("o", a, 8)});
  const ValueId gate = b.Linear("gate", h, 24), up = b.Linear("up", h, 24);
  const ValueId silu = b.Add(OpKind::kSilu, "silu", {gate});
  const ValueId gated = b.Add(OpKind::kMul, "gated", {silu, up});
  g.MarkOutput(b.Add(OpKind::kAdd, "out", {h, b.Linear("down", gated, 8)}));
  g.MarkOutput(kr);
  g.MarkOutput(v);
  return std::move(g);
}

// "out (+)= op(in…)" per step.
std::vector<std::string> Lines(const Tape& tape) {
  std::vector<std::string> lines;
  for (const TapeStep& step : tape.steps) {
    std::string line = fmt::format("{}: {} {} {}", step.name, step.out,
                                   step.accumulate ? "+=" : "=", Info(step.op).name);
    for (const int in : step.in) line += fmt::format(" {}", in);
    for (const std::string& weight : step.weights) line += " " + weight;
    lines.push_back(line);
  }
  return lines;
}

TEST(TapeBuilder, FusesAndReusesBuffers) {
  TapeBuilder builder;
  ASSERT_TRUE(builder.AddUnit(EmbedUnit()));
  ASSERT_TRUE(builder.AddUnit(LayerUnit()));
  const Result<Tape> tape = std::move(builder).Finish();
  ASSERT_TRUE(tape);
  EXPECT_THAT(Lines(*tape),
              ::testing::ElementsAre(
                  "embed.out: 0 = embedding table", "norm: 1 = rms_norm 0 norm.w",
                  "q: 2 = linear 1 q.w", "k: 3 = linear 1 k.w", "v: 4 = linear 1 v.w",
                  "q_rope: 2 = rope 2 freq", "k_rope: 3 = rope 3 freq", "attn: 5 = attention 2 3 4",
                  "h: 0 += linear 5 o.w", "gate: 6 = linear 0 gate.w", "up: 7 = linear 0 up.w",
                  "gated: 8 = silu_mul 6 7", "out: 0 += linear 8 down.w"));
  EXPECT_EQ(tape->input, -1);
  EXPECT_EQ(tape->output, 0);
  EXPECT_TRUE(tape->steps[7].k_encoding);
  EXPECT_FALSE(tape->steps[7].v_encoding);  // 16 bits: kept as float16
}

TEST(TapeBuilder, SecondLayerReusesTheBuffersOfTheFirst) {
  TapeBuilder builder;
  ASSERT_TRUE(builder.AddUnit(LayerUnit()));
  Graph next = LayerUnit();
  next.value(next.Find("embed.out")).name = "out";
  next.value(next.outputs()[0]).name = "out2";
  ASSERT_TRUE(builder.AddUnit(next));
  const Result<Tape> tape = std::move(builder).Finish();
  ASSERT_TRUE(tape);
  EXPECT_EQ(tape->buffers.size(), 9u);
  EXPECT_EQ(tape->input, 0);
}

TEST(TapeBuilder, ResultOfAHeadHasItsOwnBuffer) {
  Builder b("head");
  const ValueId x = b.graph.AddInput("h", {kRows, 8});
  b.graph.MarkOutput(b.Linear("logits", b.Linear("a", x, 8), 8));
  TapeBuilder builder;
  ASSERT_TRUE(builder.AddUnit(b.graph));
  const Result<Tape> tape = std::move(builder).Finish();
  EXPECT_THAT(Lines(*tape),
              ::testing::ElementsAre("a: 1 = linear 0 a.w", "logits: 2 = linear 1 logits.w"));
  EXPECT_EQ(tape->output, 2);
}

TEST(TapeBuilder, KeepsSiluAndResidualThatOthersRead) {
  Builder b("unit");
  const ValueId x = b.graph.AddInput("x", {kRows, 8});
  const ValueId silu = b.Add(OpKind::kSilu, "silu", {x});
  const ValueId mul = b.Add(OpKind::kMul, "mul", {silu, x});
  const ValueId both = b.Add(OpKind::kAdd, "both", {silu, b.Linear("l", mul, 8)});
  b.graph.MarkOutput(b.Add(OpKind::kAdd, "out", {both, silu}));
  TapeBuilder builder;
  ASSERT_TRUE(builder.AddUnit(b.graph));
  const Result<Tape> tape = std::move(builder).Finish();
  EXPECT_THAT(Lines(*tape),
              ::testing::ElementsAre("silu: 1 = silu 0", "mul: 2 = mul 1 0", "l: 0 = linear 2 l.w",
                                     "both: 2 = add 1 0", "out: 3 = add 2 1"));
}

TEST(TapeBuilder, RefusesWhatHasNoStep) {
  Builder b("unit");
  const ValueId x = b.graph.AddInput("x", {8, 8});
  const ValueId c = b.graph.AddConstant("c", Weight({8, 8}));
  b.graph.MarkOutput(b.Add(OpKind::kAdd, "sum", {x, c}));
  TapeBuilder builder;
  const Result<void> result = builder.AddUnit(b.graph);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Code::kUnsupported);
  EXPECT_THAT(result.error().what, ::testing::HasSubstr("sum"));
}

TEST(TapeBuilder, RefusesAUnitThatDoesNotFollow) {
  TapeBuilder builder;
  ASSERT_TRUE(builder.AddUnit(LayerUnit()));
  EXPECT_FALSE(builder.AddUnit(LayerUnit()));
}

}  // namespace
}  // namespace hexlane
