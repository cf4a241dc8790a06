#include "compiler/npy.h"

#include <gtest/gtest.h>

#include <cstring>

#include "base/file.h"

namespace hexlane {
namespace {

TEST(Npy, HeaderIsAlignedAndTheElementsFollow) {
  const Tensor tensor = Tensor::FromFloats({1, 2, 3, 4, 5, 6}, {2, 3});
  const auto path = std::filesystem::path(testing::TempDir()) / "tensor.npy";
  ASSERT_TRUE(WriteNpy(path, tensor.view()));
  const Result<std::string> text = ReadTextFile(path);
  ASSERT_TRUE(text);
  EXPECT_EQ(text->substr(0, 8), std::string("\x93NUMPY\x01\x00", 8));
  const size_t header =
      10 + static_cast<uint8_t>((*text)[8]) + 256 * static_cast<uint8_t>((*text)[9]);
  EXPECT_EQ(header % 64, 0u);
  EXPECT_EQ((*text)[header - 1], '\n');
  EXPECT_NE(text->find("'descr': '<f4', 'fortran_order': False, 'shape': (2, 3, )"), text->npos);
  EXPECT_EQ(text->size(), header + 6 * sizeof(float));
  float last = 0;
  std::memcpy(&last, text->data() + text->size() - sizeof(float), sizeof(float));
  EXPECT_EQ(last, 6);
}

}  // namespace
}  // namespace hexlane
