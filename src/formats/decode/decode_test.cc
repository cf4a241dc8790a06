#include "formats/decode/decode.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/dtype.h"
#include "base/file.h"
#include "base/json.h"
#include "formats/checkpoint.h"
#include "formats/decode/bits.h"

namespace hexlane {
namespace {

std::vector<std::byte> FromHex(const std::string& hex) {
  std::vector<std::byte> bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes.push_back(static_cast<std::byte>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  return bytes;
}

std::vector<std::byte> FromBase64(std::string_view text) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::vector<std::byte> bytes;
  uint32_t bits = 0;
  int count = 0;
  for (const char c : text.substr(0, text.find('='))) {
    bits = bits << 6 | static_cast<uint32_t>(kDigits.find(c));
    if (count += 6; count >= 8) bytes.push_back(static_cast<std::byte>(bits >> (count -= 8)));
  }
  return bytes;
}

// One case of gguf_blocks.json: its blocks end to end, and its expected values.
struct BlockCase {
  StorageType type;
  int64_t blocks;
  std::vector<std::byte> raw;
  std::vector<std::byte> want;  // float32
};

std::vector<BlockCase> BlockCases() {
  const auto text = ReadTextFile(HEXLANE_TEST_DATA "/quant/gguf_blocks.json");
  const Json json = ParseJson(*text, "gguf_blocks.json").value();
  std::vector<BlockCase> cases;
  for (const Json& item : json["cases"]) {
    BlockCase c;
    c.type = StorageFromGgml(item["ggml_type_id"].get<uint32_t>());
    EXPECT_EQ(Info(c.type).name, item["type"].get<std::string>());
    EXPECT_EQ(Info(c.type).block_elements, item["block_elements"].get<int>());
    EXPECT_EQ(Info(c.type).block_bytes, item["block_bytes"].get<int>());
    c.blocks = item["blocks"].get<int64_t>();
    c.raw.push_back(std::byte{0});  // so that the blocks lie unaligned
    for (const Json& hex : item["raw_hex"])
      for (const std::byte byte : FromHex(hex.get<std::string>())) c.raw.push_back(byte);
    c.want = FromBase64(item["values_f32_le_base64"].get<std::string>());
    cases.push_back(std::move(c));
  }
  return cases;
}

TEST(Decode, EveryBlockTypeMatchesGgmlBitForBit) {
  const std::vector<BlockCase> cases = BlockCases();
  EXPECT_EQ(cases.size(), 16u);
  for (const BlockCase& c : cases) {
    SCOPED_TRACE(Info(c.type).name);
    const BlockDecoder decode = DecoderFor(c.type);
    ASSERT_NE(decode, nullptr);
    std::vector<float> got(c.blocks * Info(c.type).block_elements);
    decode(c.raw.data() + 1, c.blocks, got.data());
    ASSERT_EQ(got.size() * 4, c.want.size());
    for (size_t i = 0; i < got.size(); ++i)
      ASSERT_EQ(std::bit_cast<uint32_t>(got[i]), Load<uint32_t>(&c.want[4 * i])) << "element " << i;
  }
}

TEST(Decode, ReadsPlainIntegersAndDoubles) {
  const auto decode = [](StorageType type, const auto& values) {
    std::vector<float> out(std::size(values));
    DecoderFor(type)(std::as_bytes(std::span(values)).data(), std::ssize(values), out.data());
    return out;
  };
  using Floats = std::vector<float>;
  EXPECT_EQ(decode(StorageType::kF64, std::vector<double>{0.5, -3}), (Floats{0.5, -3}));
  EXPECT_EQ(decode(StorageType::kI64, std::vector<int64_t>{-7, 9}), (Floats{-7, 9}));
  EXPECT_EQ(decode(StorageType::kU32, std::vector<uint32_t>{4294967040u}), (Floats{4294967040.f}));
  EXPECT_EQ(decode(StorageType::kI16, std::vector<int16_t>{-32768}), (Floats{-32768}));
  EXPECT_EQ(decode(StorageType::kU8, std::vector<uint8_t>{255}), (Floats{255}));
  EXPECT_EQ(decode(StorageType::kBool, std::vector<uint8_t>{0, 1, 2}), (Floats{0, 1, 1}));
  EXPECT_EQ(DecoderFor(StorageType::kIQ2_XXS), nullptr);
  EXPECT_EQ(DecoderFor(StorageType::kUnknown), nullptr);
}

// Largest difference between q · scale + min in float16 and the exact value: each of the two is
// off by 2^-11 of itself, or by 2^-25 where it is subnormal, which up to 127 integers multiply.
float Tolerance(const BlockKeeper& keeper, float q, QuantizedMatrix::Affine by) {
  return keeper.exact ? 0 : 0.00049f * (std::abs(q * by.scale) + std::abs(by.min)) + 4e-6f;
}

TEST(Decode, KeptBlocksStandForTheSameWeights) {
  int kept = 0;
  for (const BlockCase& c : BlockCases()) {
    SCOPED_TRACE(Info(c.type).name);
    const BlockKeeper* keeper = KeeperFor(c.type);
    if (keeper == nullptr) continue;
    ++kept;
    const int64_t columns = c.blocks / 2 * Info(c.type).block_elements;
    StoredTensor tensor;
    tensor.shape = {2, columns};
    tensor.type = c.type;
    tensor.bytes = std::span(c.raw).subspan(1);
    EXPECT_EQ(tensor.kept_as(), keeper->scheme);
    EXPECT_EQ(tensor.kept_exactly(), keeper->exact);
    const QuantizedMatrix matrix = KeepBlocks(tensor);
    for (int64_t i = 0; i < 2 * columns; ++i) {
      const auto by = matrix.AffineOf(i / columns, i % columns);
      const auto q = static_cast<float>(matrix.q[i]);
      if (!std::isfinite(by.scale)) {  // d·s is more than float16 holds: Checkpoint refuses it
        EXPECT_EQ(c.type, StorageType::kQ4_K);
        continue;
      }
      ASSERT_NEAR(q * by.scale + by.min, Load<float>(&c.want[4 * i]), Tolerance(*keeper, q, by))
          << i;
    }
    tensor.shape = Shape{2 * columns};
    EXPECT_FALSE(tensor.kept_as().has_value());  // a vector is no matrix
  }
  EXPECT_EQ(kept, 5);
  EXPECT_EQ(KeeperFor(StorageType::kQ6_K), nullptr);
}

}  // namespace
}  // namespace hexlane
