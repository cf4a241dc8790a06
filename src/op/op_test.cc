#include "op/op.h"

#include <gmock/gmock.h>

#include "op/dims.h"

namespace hexlane {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<Shape> ShapesOf(OpKind op, const Attrs& attrs, std::vector<Shape> inputs) {
  Result<std::vector<Shape>> shapes = Def(op).shape_rule(attrs, inputs);
  EXPECT_TRUE(shapes) << shapes.error().ToString();
  return shapes.value_or(std::vector<Shape>());
}

TEST(Ops, AreFoundByName) {
  for (const OpDef& def : AllOps()) EXPECT_EQ(OpFromName(def.name), def.kind);
  EXPECT_EQ(OpFromName("Nope"), std::nullopt);
}

TEST(Shapes, CarrySymbolsThrough) {
  EXPECT_THAT(ShapesOf(OpKind::kLinear, NoAttrs{}, {{kRows, 4}, {8, 4}}),
              ElementsAre(Shape{kRows, 8}));
  EXPECT_THAT(ShapesOf(OpKind::kEmbedding, NoAttrs{}, {{kRows}, {100, 8}}),
              ElementsAre(Shape{kRows, 8}));
  const AttentionAttrs attrs{.heads = 4, .kv_heads = 2, .head_dim = 8};
  const std::vector<Shape> inputs = {{kRows, 32}, {kRows, 16}, {kRows, 16},
                                     {kPast, 16}, {kPast, 16}, {1}};
  EXPECT_THAT(ShapesOf(OpKind::kAttention, attrs, inputs),
              ElementsAre(Shape{kRows, 32}, Shape{4, kRows, kContext}));
}

TEST(Shapes, AreSpecialisedForAStage) {
  EXPECT_EQ(Specialise({2, kRows, kContext}, 128, 384), (Shape{2, 128, 512}));
  EXPECT_EQ(Specialise({kPast, 7}, 1, 511), (Shape{511, 7}));
}

TEST(Shapes, RefuseWhatDoesNotFit) {
  const auto error = [](OpKind op, const Attrs& attrs, std::vector<Shape> inputs) {
    const auto shapes = Def(op).shape_rule(attrs, inputs);
    return shapes ? std::string("accepted") : shapes.error().ToString();
  };
  EXPECT_THAT(error(OpKind::kLinear, NoAttrs{}, {{kRows, 4}, {8, 5}}), HasSubstr("does not fit"));
  EXPECT_THAT(error(OpKind::kLinear, NoAttrs{}, {{kRows, 4}, {8, 4}, {7}}), HasSubstr("bias"));
  EXPECT_THAT(error(OpKind::kAdd, NoAttrs{}, {{kRows, 4}, {kRows, 5}}), HasSubstr("operand"));
  EXPECT_THAT(error(OpKind::kRmsNorm, RmsNormAttrs{}, {{kRows, 10}, {4}}), HasSubstr("multiple"));
  EXPECT_THAT(error(OpKind::kRope, RopeAttrs{.head_dim = 4}, {{kRows, 8}, {1}, {3}}),
              HasSubstr("at most 2"));
  EXPECT_THAT(error(OpKind::kAttention, AttentionAttrs{.heads = 3, .kv_heads = 2},
                    {{}, {}, {}, {}, {}, {}}),
              HasSubstr("cannot share"));
}

}  // namespace
}  // namespace hexlane
