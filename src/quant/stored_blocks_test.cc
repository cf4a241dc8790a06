// What HTP's 8-bit blocks lose of GGUF's blocks of 5 and 6 bits, whose scales or minimums they have
// no place for.
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "base/dtype.h"
#include "formats/decode/decode.h"
#include "quant/quantize_tensor.h"

namespace hexlane {
namespace {

struct BlockForm {
  StorageType type;
  std::vector<int> halves;  // where the float16 scale, and minimum, of a block are
};

// Random blocks, as a matrix of two rows.
Tensor Blocks(const BlockForm& form) {
  std::mt19937 random(5);
  const StorageInfo& info = Info(form.type);
  const int64_t blocks = 512 / info.block_elements;
  std::vector<std::byte> raw(blocks * info.block_bytes);
  for (std::byte& byte : raw) byte = static_cast<std::byte>(random());
  for (int64_t b = 0; b < blocks; ++b) {
    for (const int at : form.halves) {
      const uint16_t half = F32ToF16(0.01f);
      std::memcpy(&raw[b * info.block_bytes + at], &half, 2);
    }
  }
  std::vector<float> values(512);
  DecoderFor(form.type)(raw.data(), blocks, values.data());
  return Tensor::FromFloats(std::move(values), {2, 256});
}

// No error is above half a step of max / 127, so that at worst, with one large weight in each
// block: 10 log10(max² / (32 (max / 254)²)) = 33 dB.
TEST(StoredBlocks, EightBitsHoldFiveAndSixBitBlocksWell) {
  const BlockForm forms[] = {
      {StorageType::kQ5_1, {0, 2}}, {StorageType::kQ5_K, {0, 2}}, {StorageType::kQ6_K, {208}}};
  for (const BlockForm& form : forms) {
    SCOPED_TRACE(Info(form.type).name);
    const auto result = QuantizeTensor(Blocks(form).view(), Scheme::kW8Block32, "w", nullptr);
    ASSERT_TRUE(result);
    ASSERT_TRUE(result->snr_db.has_value());
    EXPECT_GT(*result->snr_db, 33);
  }
}

}  // namespace
}  // namespace hexlane
