// What the emitter refuses, without any vendor library.
#include <gtest/gtest.h>

#include "backends/emitters.h"
#include "backends/qnn/emit/tiny_decoder.h"

namespace hexlane::qnn {
namespace {

// "name: reason" of every refused node.
std::vector<std::string> Refusals(const Graph& unit, const char* soc) {
  std::vector<std::string> lines;
  const auto emitter = NewQnnEmitter();
  for (const Node& node : unit.nodes())
    if (const auto why = emitter->Refuses(unit, node, MUST(FindTarget(soc))))
      lines.push_back(unit.NameOf(node) + ": " + *why);
  return lines;
}

const std::vector<int32_t> kIds = {5, 17, 99};

TEST(Refusals, LayersOfEverySchemeAreAccepted) {
  for (const char* scheme : {"f16", "w8a16", "w4a16", "w4-exact"}) {
    const QuantisedDecoder decoder(scheme, 16, kIds);
    for (size_t unit = 1; unit < decoder.units.size(); ++unit)
      EXPECT_EQ(Refusals(decoder.units[unit], "SM8650"), std::vector<std::string>()) << scheme;
  }
}

TEST(Refusals, AnEmbeddingNeedsAConstantTable) {
  QuantisedDecoder decoder("f16", 16, kIds);
  Graph& unit = decoder.units[0];
  EXPECT_EQ(Refusals(unit, "SM8650"), std::vector<std::string>());
  unit.value(unit.nodes()[0].inputs[1]).constant.reset();
  EXPECT_EQ(Refusals(unit, "SM8650"),
            (std::vector<std::string>{"embed.out: its table is not a constant"}));
}

TEST(Refusals, SixteenBitCacheNeedsV73) {
  const QuantisedDecoder decoder("w8a16", 16, kIds);
  const std::vector<std::string> lines = Refusals(decoder.units[1], "SM8450");
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_NE(lines[0].find("layers.0.attn: a 16-bit KV cache needs V73"), std::string::npos);
}

TEST(Refusals, MixedKindsAndFloatWeightsInFixedPointGraphsAreNamed) {
  QuantisedDecoder decoder("w8a16", 16, kIds);
  Graph& unit = decoder.units[1];
  unit.value(unit.Find("layers.0.q")).encoding = Encoding{.dtype = DType::kF16};
  EXPECT_FALSE(Refusals(unit, "SM8650").empty());
  TinyDecoder plain;
  unit = decoder.units[2];
  const ValueId x = unit.Find("layers.1.attn");
  unit.value(x).encoding = unit.value(unit.Find("layers.1.o_proj")).encoding =
      Encoding{.dtype = DType::kU16, .scale = 0.01f, .offset = -32768};
  unit.value(unit.Find("layers.1.o_proj.weight")).constant =
      plain.Matrix(TinyDecoder::kHidden, TinyDecoder::kHidden);
  EXPECT_EQ(Refusals(unit, "SM8650"),
            (std::vector<std::string>{"layers.1.o_proj: float weights need f16 activations"}));
}

}  // namespace
}  // namespace hexlane::qnn
