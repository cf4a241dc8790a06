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
  for (const QuantScheme& row : AllQuantSchemes()) {
    const std::string scheme(row.name);
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

// Refusals of o_proj of a w4a16 layer whose weight is 64 × `columns` in `scheme`.
std::vector<std::string> RefusalsOf(Scheme scheme, int64_t columns, bool f16, const char* soc) {
  QuantisedDecoder decoder("w4a16", 8, kIds);
  Graph& unit = decoder.units[1];
  Value& weight = unit.value(unit.Find("layers.0.o_proj.weight"));
  const std::vector<float> values(static_cast<size_t>(64 * columns), 0.5f);
  weight.constant = Pack(MUST(QuantizeWeights({values, 64, columns, "w"}, scheme)));
  weight.shape = {64, columns};
  const DType dtype = f16 ? DType::kF16 : DType::kU16;
  for (const char* name : {"layers.0.attn", "layers.0.o_proj"})
    unit.value(unit.Find(name)).encoding = Encoding{.dtype = dtype, .scale = 1, .offset = -32768};
  std::vector<std::string> lines;
  for (const std::string& line : Refusals(unit, soc))
    if (line.starts_with("layers.0.o_proj: ")) lines.push_back(line.substr(17));
  return lines;
}

TEST(Refusals, NameTheNearestSchemeThatWorks) {
  using Lines = std::vector<std::string>;
  EXPECT_EQ(RefusalsOf(Scheme::kW4Affine32, 64, false, "SM8650"),
            (Lines{"w4-affine32 weights need f16 activations; the nearest for fixed-point ones is "
                   "w4-lpbq32"}));
  EXPECT_EQ(RefusalsOf(Scheme::kW4Lpbq64, 96, false, "SM8650"),
            (Lines{"blocks of 64 do not divide 96 columns; the nearest that does is w4-lpbq32"}));
  EXPECT_EQ(RefusalsOf(Scheme::kW3Lpbq32, 72, false, "SM8650"),
            (Lines{"blocks of 32 do not divide 72 columns; the nearest that does is w4-channel"}));
  EXPECT_EQ(RefusalsOf(Scheme::kW4Block32, 64, true, "SM8350"),
            (Lines{"4-bit blocks with f16 activations need HTP v69 or later"}));
  EXPECT_EQ(RefusalsOf(Scheme::kW4Channel, 72, false, "SM8650"), Lines());
}

}  // namespace
}  // namespace hexlane::qnn
