#include "base/memory.h"

#include <gtest/gtest.h>

#include <vector>

namespace hexlane {
namespace {

TEST(PeakRss, GrowsWithTouchedMemory) {
  const size_t before = PeakRssBytes();
  EXPECT_GT(before, size_t{1} << 20);
  const std::vector<char> block(before + (size_t{64} << 20), 1);
  EXPECT_GE(PeakRssBytes(), block.size());
}

}  // namespace
}  // namespace hexlane
