#include "compiler/ep_context.h"

#include <gmock/gmock.h>

namespace hexlane {
namespace {

using testing::HasSubstr;

EpContextModel Model(DType type) {
  return {.graph = "r1c64",
          .binary = "SM8650.bin",
          .sdk_version = "v2.51",
          .hardware = "SM8650",
          .inputs = {{"hidden_in", type, {1, 1, 1, 300}}},
          .outputs = {{"logits", DType::kF16, {1, 1, 1, 256}}}};
}

// Field 4 (op_type), 7 (domain) and 3 (name) of the node; an attribute's 4 (s) and 20 (type
// STRING).
TEST(EpContext, NodeNamesItsGraphAndItsFile) {
  const auto bytes = EpContextOnnx(Model(DType::kU16));
  ASSERT_TRUE(bytes.has_value());
  EXPECT_THAT(*bytes, HasSubstr("\x22\x09"
                                "EPContext"));
  EXPECT_THAT(*bytes, HasSubstr("\x3a\x0d"
                                "com.microsoft"));
  EXPECT_THAT(*bytes, HasSubstr("\x1a\x05"
                                "r1c64"));
  EXPECT_THAT(*bytes, HasSubstr("ep_cache_context\"\x0aSM8650.bin\xa0\x01\x03"));
}

// A zero must be written: readers take an attribute without a value for malformed.
TEST(EpContext, EmbedModeZeroIsInTheFile) {
  const auto bytes = EpContextOnnx(Model(DType::kU16));
  ASSERT_TRUE(bytes.has_value());
  EXPECT_THAT(*bytes, HasSubstr(std::string("embed_mode\x18\x00\xa0\x01\x02", 15)));
}

TEST(EpContext, ElementTypesThatOnnxHasNotAreRefused) {
  const auto bytes = EpContextOnnx(Model(DType::kBF16));
  ASSERT_FALSE(bytes.has_value());
  EXPECT_EQ(bytes.error().what, "tensor 'hidden_in' is of bf16");
}

}  // namespace
}  // namespace hexlane
