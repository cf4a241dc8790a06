#include "backends/qnn/exec/kv_cache.h"

#include <gtest/gtest.h>

namespace hexlane::qnn {
namespace {

std::vector<std::byte> Bytes(std::initializer_list<int> values) {
  std::vector<std::byte> bytes;
  for (int value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

constexpr std::byte kZero[] = {std::byte{128}};

TEST(CacheTensor, KeysAreColumns) {
  CacheTensor cache({.keys = true, .heads = 1, .head_dim = 2, .element_bytes = 1}, 3, kZero);
  cache.Store(Bytes({1, 2, 3, 4}), /*rows=*/2, /*at=*/0, /*count=*/2);  // d0: 1 2, d1: 3 4
  EXPECT_EQ(std::vector(cache.bytes().begin(), cache.bytes().end()), Bytes({1, 2, 128, 3, 4, 128}));
  std::vector<std::byte> narrow(4);
  cache.CopyTo(narrow, 2, 1);
  EXPECT_EQ(narrow[0], std::byte{1});
  EXPECT_EQ(narrow[2], std::byte{3});
}

TEST(CacheTensor, ValuesAreRowsOfEachHead) {
  CacheTensor cache({.keys = false, .heads = 2, .head_dim = 2, .element_bytes = 1}, 2, kZero);
  cache.Store(Bytes({1, 2, 3, 4}), /*rows=*/1, /*at=*/1, /*count=*/1);
  EXPECT_EQ(std::vector(cache.bytes().begin(), cache.bytes().end()),
            Bytes({128, 128, 1, 2, 128, 128, 3, 4}));
}

TEST(CacheTensor, DropsWhatNothingCanAttendTo) {
  CacheTensor cache({.keys = true, .heads = 1, .head_dim = 1, .element_bytes = 1}, 2, kZero);
  cache.Store(Bytes({1, 2, 3}), 3, 1, 3);
  EXPECT_EQ(std::vector(cache.bytes().begin(), cache.bytes().end()), Bytes({128, 1}));
  cache.Store(Bytes({7}), 1, 2, 1);
  EXPECT_EQ(cache.bytes()[1], std::byte{1});
}

}  // namespace
}  // namespace hexlane::qnn
