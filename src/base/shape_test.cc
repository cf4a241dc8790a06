#include "base/shape.h"

#include <gtest/gtest.h>

#include <limits>

#include "base/tensor.h"

namespace hexlane {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

TEST(Shape, CountsElementsAndRows) {
  const Shape shape{2, 3, 4};
  EXPECT_EQ(shape.elements(), 24);
  EXPECT_EQ(shape.rows(), 6);
  EXPECT_EQ(shape.last(), 4);
  EXPECT_EQ(Shape().elements(), 1);
  EXPECT_EQ((Shape{3, 0}).rows(), 0);
}

TEST(Shape, ComparesRankAndDimensions) {
  EXPECT_EQ((Shape{2, 3}), (Shape{2, 3}));
  EXPECT_NE((Shape{2, 3}), (Shape{3, 2}));
  EXPECT_NE((Shape{2}), (Shape{2, 1}));
}

TEST(Shape, PrintsInBrackets) {
  EXPECT_EQ(fmt::format("{}", Shape{2, 3}), "[2, 3]");
  EXPECT_EQ(fmt::format("{}", Shape{}), "[]");
}

TEST(ShapeDeathTest, MoreThanEightDimensionsAreABug) {
  EXPECT_DEATH((Shape{1, 1, 1, 1, 1, 1, 1, 1, 1}), "bug in Hexlane");
}

Result<int64_t> Checked(std::initializer_list<int64_t> dims) {
  return CheckedElements(std::span(dims.begin(), dims.size()));
}

TEST(CheckedElements, AcceptsUpToTheLargestNumber) {
  EXPECT_EQ(*Checked({}), 1);
  EXPECT_EQ(*Checked({kMax}), kMax);
  EXPECT_EQ(*Checked({1 << 20, 1 << 20}), int64_t{1} << 40);
}

TEST(CheckedElements, RefusesOverflowWhereverAZeroStands) {
  EXPECT_EQ(Checked({kMax, 2}).error().code, Code::kCorrupt);
  EXPECT_EQ(Checked({int64_t{1} << 32, int64_t{1} << 31}).error().code, Code::kCorrupt);
  EXPECT_EQ(*Checked({0, kMax, 2}), 0);
}

TEST(CheckedElements, RefusesANegativeDimension) {
  EXPECT_EQ(Checked({4, -1}).error().what, "negative dimension -1");
  EXPECT_FALSE(Checked({0, -1}));
}

TEST(Tensor, KeepsItsBytesAlive) {
  Tensor copy;
  {
    const Tensor tensor = Tensor::FromFloats({1, 2, 3, 4}, {2, 2});
    copy = tensor;
  }
  EXPECT_EQ(copy.floats()[3], 4.0f);
  EXPECT_EQ(copy.shape(), (Shape{2, 2}));
}

TEST(TensorDeathTest, ReadingAsAnotherSizeIsABug) {
  const Tensor tensor = Tensor::FromFloats({1}, {1});
  EXPECT_DEATH(tensor.view().As<double>(), "bug in Hexlane");
}

}  // namespace
}  // namespace hexlane
