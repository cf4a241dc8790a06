// What HTP's 8-bit blocks lose of GGUF's blocks of 5 and 6 bits, whose scales or minimums they have
// no place for.
#include <gtest/gtest.h>

#include "base/file.h"
#include "base/json.h"
#include "formats/decode/decode.h"
#include "quant/quantize_tensor.h"

namespace hexlane {
namespace {

// The golden blocks of a type, as a matrix of two rows.
Tensor Blocks(StorageType type) {
  const std::string text = *ReadTextFile(HEXLANE_TEST_DATA "/quant/gguf_blocks.json");
  std::vector<float> values;
  for (const Json& item : ParseJson(text, "gguf_blocks.json").value()["cases"]) {
    if (item["ggml_type_id"].get<int>() != Info(type).ggml_type) continue;
    for (const Json& hex : item["raw_hex"]) {
      std::vector<std::byte> raw;
      for (size_t i = 0; i < hex.get<std::string>().size(); i += 2)
        raw.push_back(std::byte(std::stoi(hex.get<std::string>().substr(i, 2), nullptr, 16)));
      std::vector<float> block(Info(type).block_elements);
      DecoderFor(type)(raw.data(), 1, block.data());
      values.insert(values.end(), block.begin(), block.end());
    }
  }
  const int64_t columns = std::ssize(values) / 2;
  return Tensor::FromFloats(std::move(values), {2, columns});
}

// No error is above half a step of max / 127, so that at worst, with one large weight in each
// block: 10 log10(max² / (32 (max / 254)²)) = 33 dB.
TEST(StoredBlocks, EightBitsHoldFiveAndSixBitBlocksWell) {
  for (const StorageType type : {StorageType::kQ5_1, StorageType::kQ5_K, StorageType::kQ6_K}) {
    SCOPED_TRACE(Info(type).name);
    const auto result = QuantizeTensor(Blocks(type).view(), Scheme::kW8Block32, "w", nullptr);
    ASSERT_TRUE(result);
    ASSERT_TRUE(result->snr_db.has_value());
    EXPECT_GT(*result->snr_db, 33);
    RecordProperty(std::string(Info(type).name), std::to_string(*result->snr_db));
  }
}

}  // namespace
}  // namespace hexlane
