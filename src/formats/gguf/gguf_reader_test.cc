#include "formats/gguf/gguf_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "formats/checkpoint.h"
#include "formats/gguf/gguf_format.h"
#include "formats/testing/gguf_builder.h"

namespace hexlane {
namespace {

using testing::Bytes;
using testing::GgufBuilder;
using ::testing::HasSubstr;
using testing::Raw;
using testing::Text;

constexpr uint32_t kF32 = 0, kQ8_0 = 8, kIq2Xxs = 16, kFuture = 200;

std::string Floats(std::vector<float> values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * 4};
}

GgufBuilder Small() {
  GgufBuilder builder;
  builder.String("general.architecture", "llama").U32("llama.block_count", 1);
  builder.Pair("flag", 7, Raw<uint8_t>(1)).Pair("ratio", 6, Raw(0.5f));
  builder.Strings("words", {"a", "bc"});
  builder.Tensor("norm", {3}, kF32, Floats({1, 2, 3}));
  builder.Tensor("w", {2, 3}, kF32, Floats({1, 2, 3, 4, 5, 6}));
  return builder;
}

Result<GgufFile> Read(const std::string& file) { return ReadGguf(Bytes(file), "t.gguf"); }

std::string ErrorOf(const std::string& file) {
  const auto result = Read(file);
  return result ? "no error" : result.error().ToString();
}
std::string ErrorOf(const GgufBuilder& builder) { return ErrorOf(builder.Build()); }

Checkpoint Open(const std::string& file) {
  return Checkpoint(GgufParts(Bytes(file), nullptr, "t.gguf").value());
}

TEST(Gguf, ReadsPairsAndTensors) {
  const std::string bytes = Small().Build();
  const GgufFile file = Read(bytes).value();
  EXPECT_EQ(file.metadata["general.architecture"], "llama");
  EXPECT_EQ(file.metadata["llama.block_count"], 1);
  EXPECT_EQ(file.metadata["flag"], true);
  EXPECT_EQ(file.metadata["ratio"], 0.5);
  EXPECT_EQ(file.metadata["words"], Json::array({"a", "bc"}));
  ASSERT_EQ(file.tensors.size(), 2u);
  EXPECT_EQ(file.tensors[1].name, "w");
  EXPECT_EQ(file.tensors[1].shape, (Shape{3, 2}));  // reversed
  EXPECT_EQ(file.tensors[1].offset, file.data_offset + 32);
  EXPECT_EQ(Open(bytes).ReadFloats(file.tensors[1]).value(),
            (std::vector<float>{1, 2, 3, 4, 5, 6}));
}

TEST(Gguf, ReadsEveryValueType) {
  GgufBuilder builder;
  builder.Pair("u8", 0, Raw<uint8_t>(200)).Pair("i8", 1, Raw<int8_t>(-2));
  builder.Pair("u16", 2, Raw<uint16_t>(65535)).Pair("i16", 3, Raw<int16_t>(-3));
  builder.Pair("i32", 5, Raw<int32_t>(-4)).Pair("u64", 10, Raw<uint64_t>(~0ull));
  builder.Pair("i64", 11, Raw<int64_t>(-5)).Pair("f64", 12, Raw(0.1));
  builder.Pair("nested", 9,
               Raw<uint32_t>(9) + Raw<uint64_t>(1) + Raw<uint32_t>(0) + Raw<uint64_t>(2) + "\1\2");
  const GgufFile file = Read(builder.Build()).value();
  EXPECT_EQ(
      file.metadata.dump(),
      "{\"f64\":0.1,\"i16\":-3,\"i32\":-4,\"i64\":-5,\"i8\":-2,\"nested\":[[1,2]],\"u16\":65535,"
      "\"u64\":18446744073709551615,\"u8\":200}");
}

TEST(Gguf, LeavesLongArraysInTheFile) {
  GgufBuilder builder = Small();
  builder.Strings("long", std::vector<std::string>(kMaxGgufArray + 1, "x"));
  const GgufFile file = Read(builder.Build()).value();
  EXPECT_FALSE(file.metadata.contains("long"));
  EXPECT_EQ(file.arrays.at("long").count, kMaxGgufArray + 1);
}

TEST(Gguf, HonoursTheAlignment) {
  GgufBuilder builder;
  builder.alignment = 64;
  builder.U32("general.alignment", 64);
  builder.Tensor("a", {1}, kF32, Floats({7})).Tensor("b", {1}, kF32, Floats({8}));
  const std::string bytes = builder.Build();
  const Checkpoint checkpoint = Open(bytes);
  EXPECT_EQ(checkpoint.ReadFloats(*checkpoint.Find("b")).value(), std::vector<float>{8});
  for (const uint32_t bad : {0u, 3u, 24u, 1u << 31}) {
    builder = GgufBuilder();
    EXPECT_THAT(ErrorOf(builder.U32("general.alignment", bad)), HasSubstr("general.alignment"));
  }
}

TEST(Gguf, ReportsTruncationAtEveryLength) {
  const std::string whole = Small().Build();
  const size_t used =
      whole.size() - 8;  // 24 bytes of data, padded to 32: the padding may be missing
  for (size_t size = 0; size < whole.size(); ++size) {
    const auto result = Read(whole.substr(0, size));
    ASSERT_EQ(result.has_value(), size >= used) << size;
    if (result) continue;
    ASSERT_EQ(result.error().code, Code::kCorrupt) << size;
    ASSERT_THAT(result.error().where, HasSubstr("t.gguf: offset ")) << size;
  }
}

TEST(Gguf, SurvivesEveryFlippedByte) {
  const std::string whole = Small().Build();
  for (size_t i = 0; i < whole.size(); ++i) {
    for (const char mask : {'\x01', '\x80', '\xff'}) {
      std::string file = whole;
      file[i] ^= mask;
      const auto parts = GgufParts(Bytes(file), nullptr, "t.gguf");
      if (!parts) continue;
      const Checkpoint checkpoint(*parts);
      for (const StoredTensor& tensor : checkpoint.tensors()) (void)checkpoint.ReadFloats(tensor);
    }
  }
}

TEST(Gguf, RefusesOtherVersionsByName) {
  GgufBuilder builder = Small();
  builder.version = 1;
  EXPECT_THAT(ErrorOf(builder), HasSubstr("GGUF version 1 is not handled"));
  builder.version = 0x03000000;
  EXPECT_THAT(ErrorOf(builder), HasSubstr("big-endian"));
  builder.version = 2;
  EXPECT_TRUE(Read(builder.Build()).has_value());
  EXPECT_THAT(ErrorOf("GGML" + builder.Build().substr(4)), HasSubstr("not a GGUF file"));
}

TEST(Gguf, RefusesSplitFilesWithARemedy) {
  const auto result = Read(Small().Pair("split.count", 2, Raw<uint16_t>(3)).Build());
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code, Code::kUnsupported);
  EXPECT_THAT(result.error().remedy, HasSubstr("llama-gguf-split --merge"));
  EXPECT_TRUE(Read(Small().Pair("split.count", 2, Raw<uint16_t>(1)).Build()).has_value());
}

TEST(Gguf, RefusesHugeCounts) {
  std::string file = Small().Build();
  for (const size_t at : {8, 16}) {
    std::string bad = file;
    bad.replace(at, 8, Raw<uint64_t>(1ull << 60));
    EXPECT_THAT(ErrorOf(bad), HasSubstr("count cannot be right"));
  }
  for (const uint32_t element : {0u, 6u, 8u, 9u, 12u}) {
    const std::string head = Raw(element) + Raw<uint64_t>(1ull << 61);
    EXPECT_THAT(ErrorOf(GgufBuilder().Pair("a", 9, head)), HasSubstr("length cannot be right"));
  }
  EXPECT_THAT(ErrorOf(GgufBuilder().Pair("s", 8, Raw<uint64_t>(~0ull))), HasSubstr("ends inside"));
}

TEST(Gguf, RefusesBadValues) {
  EXPECT_THAT(ErrorOf(GgufBuilder().Pair("b", 7, "\2")), HasSubstr("bad truth value"));
  EXPECT_THAT(ErrorOf(GgufBuilder().Pair("x", 13, "\2")), HasSubstr("unknown value type"));
  EXPECT_THAT(ErrorOf(GgufBuilder().Pair("x", 9, Raw<uint32_t>(77) + Raw<uint64_t>(0))),
              HasSubstr("unknown element type"));
  EXPECT_THAT(ErrorOf(GgufBuilder().U32("k", 1).U32("k", 2)), HasSubstr("'k' is there twice"));
  EXPECT_THAT(ErrorOf(GgufBuilder().U32("\xff", 1)), HasSubstr("not UTF-8"));
  std::string deep;
  for (int i = 0; i < 1000; ++i) deep += Raw<uint32_t>(9) + Raw<uint64_t>(1);
  EXPECT_THAT(ErrorOf(GgufBuilder().Pair("x", 9, deep)), HasSubstr("nest too deep"));
  EXPECT_EQ(Read(GgufBuilder().String("s", "a\xff").Build())->metadata["s"], "a\uFFFD");
}

TEST(Gguf, RefusesBadTensors) {
  const std::string data = Floats({1, 2, 3, 4});
  const auto with = [&](std::vector<uint64_t> dims, uint32_t type, uint64_t offset) {
    return ErrorOf(GgufBuilder().Tensor("a", {4}, kF32, data).TensorAt("b", dims, type, offset));
  };
  EXPECT_THAT(with({1, 1, 1, 1, 1}, kF32, 0), HasSubstr("tensor 'b': bad rank"));
  EXPECT_THAT(with({~0ull}, kF32, 0), HasSubstr("bad dimension"));
  EXPECT_THAT(with({1ull << 32, 1ull << 32}, kF32, 0), HasSubstr("overflows"));
  EXPECT_THAT(with({1ull << 62}, kF32, 0), HasSubstr("passes the end"));
  EXPECT_THAT(with({1}, kF32, ~0ull - 31), HasSubstr("passes the end"));
  EXPECT_THAT(with({1}, kF32, 1), HasSubstr("not aligned"));
  EXPECT_THAT(with({4}, kF32, 0), HasSubstr("overlap"));
  EXPECT_THAT(with({33}, kQ8_0, 0), HasSubstr("innermost dimension"));
  EXPECT_THAT(ErrorOf(Small().TensorAt("w", {1}, kF32, 0)), HasSubstr("'w' is there twice"));
}

TEST(Gguf, UnsupportedTypesFailOnlyWhenRead) {
  GgufBuilder builder;
  builder.Tensor("a", {256}, kIq2Xxs, std::string(66, 'x'));
  builder.Tensor("b", {2}, kFuture, "xxxx").Tensor("c", {1}, kF32, Floats({5}));
  const std::string bytes = builder.Build();
  const Checkpoint checkpoint = Open(bytes);
  EXPECT_EQ(checkpoint.ReadFloats(*checkpoint.Find("c")).value(), std::vector<float>{5});
  const auto a = checkpoint.ReadFloats(*checkpoint.Find("a"));
  ASSERT_FALSE(a.has_value());
  EXPECT_EQ(a.error().code, Code::kUnsupported);
  EXPECT_THAT(a.error().ToString(), HasSubstr("tensor 'a' is stored as IQ2_XXS"));
  const auto b = checkpoint.ReadFloats(*checkpoint.Find("b"));
  EXPECT_THAT(b.error().ToString(), HasSubstr("tensor 'b' is stored as GGML type 200"));
}

TEST(Gguf, ReadsTheVocabulary) {
  GgufBuilder builder;
  builder.String("general.architecture", "llama").U32("llama.context_length", 99);
  builder.String("tokenizer.ggml.model", "gpt2").String("tokenizer.ggml.pre", "smollm");
  builder.Strings("tokenizer.ggml.tokens", {"a", "b", "ab"});
  builder.Strings("tokenizer.ggml.merges", {"a b"});
  builder.Pair("tokenizer.ggml.token_type", 9,
               Raw<uint32_t>(5) + Raw<uint64_t>(3) + Raw(1) + Raw(1) + Raw(3));
  builder.U32("tokenizer.ggml.bos_token_id", 2).U32("tokenizer.ggml.eos_token_id", 1);
  builder.Pair("tokenizer.ggml.add_bos_token", 7, Raw<uint8_t>(0));
  const std::string bytes = builder.Build();
  const GgufVocabulary v = ReadGgufVocabulary(*Read(bytes), Bytes(bytes), "t.gguf").value();
  EXPECT_EQ(v.model, "gpt2");
  EXPECT_EQ(v.tokens, (std::vector<std::string>{"a", "b", "ab"}));
  EXPECT_EQ(v.merges, std::vector<std::string>{"a b"});
  EXPECT_EQ(v.types, (std::vector<int32_t>{1, 1, 3}));
  EXPECT_EQ(v.bos_id, 2);
  EXPECT_EQ(v.unk_id, std::nullopt);
  EXPECT_EQ(v.add_bos, false);
  EXPECT_EQ(v.context_length, 99);
}

TEST(Gguf, ReportsABadVocabulary) {
  const auto error = [](const GgufBuilder& builder) {
    const std::string bytes = builder.Build();
    const auto result = ReadGgufVocabulary(*Read(bytes), Bytes(bytes), "t.gguf");
    return result ? "no error" : result.error().ToString();
  };
  EXPECT_THAT(error(Small()), HasSubstr("no vocabulary"));
  GgufBuilder builder;
  builder.String("tokenizer.ggml.model", "gpt2");
  builder.Pair("tokenizer.ggml.tokens", 9, Raw<uint32_t>(4) + Raw<uint64_t>(1) + Raw(1));
  EXPECT_THAT(error(builder), HasSubstr("wrong element type"));
  builder = GgufBuilder();
  builder.U32("tokenizer.ggml.model", 1).Strings("tokenizer.ggml.tokens", {"a"});
  EXPECT_THAT(error(builder),
              HasSubstr("'tokenizer.ggml.model' (at t.gguf: offset 24): want a string"));
}

TEST(Gguf, GathersTheIdsThatEndATurn) {
  GgufBuilder builder;
  builder.U32("tokenizer.ggml.eos_token_id", 2).U32("tokenizer.ggml.bos_token_id", 1);
  EXPECT_EQ(Open(builder.Build()).generation_config(),
            (Json{{"bos_token_id", 1}, {"eos_token_id", 2}}));
  builder.U32("tokenizer.ggml.eot_token_id", 7).U32("tokenizer.ggml.eom_token_id", 2);
  EXPECT_EQ(Open(builder.Build()).generation_config()["eos_token_id"], Json::array({2, 7}));
}

}  // namespace
}  // namespace hexlane
