// Golden folders: tests/data/quantised_checkpoints/make_quantised.py.
#include "formats/huggingface/join_quantised.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "base/file.h"
#include "base/json.h"
#include "formats/grouped/grouped_matrix.h"
#include "formats/testing/folder.h"

namespace hexlane {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

const fs::path kData = fs::path(HEXLANE_TEST_DATA) / "quantised_checkpoints";
constexpr const char* kFolders[] = {
    "awq-4bit-128",      "compressed-4bit-64", "compressed-4bit-channel", "gptq-4bit-32",
    "gptq-4bit-channel", "gptq-8bit-128",      "gptq-act-order"};

Json ReadJson(const fs::path& path) { return Json::parse(ReadTextFile(path).value()); }

class Quantised : public ::testing::TestWithParam<const char*> {
 protected:
  const fs::path folder_ = kData / GetParam();
  const Json expected_ = ReadJson(folder_ / "expected.json")["tensors"];
  const std::unique_ptr<Checkpoint> checkpoint_ = Checkpoint::Open(folder_).value();
};

TEST_P(Quantised, DecodesToTheValuesThatWereStored) {
  EXPECT_EQ(expected_.size(), 7u);
  for (const auto& [name, want] : expected_.items()) {
    SCOPED_TRACE(name);
    const StoredTensor* tensor = checkpoint_->Find(name);
    ASSERT_NE(tensor, nullptr);
    EXPECT_EQ(Json(tensor->shape.dims()), want["shape"]);
    const std::vector<float> values = checkpoint_->ReadFloats(*tensor).value();
    EXPECT_EQ(Sha256(std::as_bytes(std::span(values))), want["sha256"].get<std::string>());
    const int64_t k = tensor->shape[1];
    std::vector<float> row(k);
    ASSERT_TRUE(checkpoint_->ReadRows(*tensor, 9, 1, row));
    EXPECT_TRUE(std::equal(row.begin(), row.end(), values.begin() + 9 * k));
  }
}

TEST_P(Quantised, LeavesNoPartsBehind) {
  for (const StoredTensor& tensor : checkpoint_->tensors()) {
    EXPECT_TRUE(tensor.name.ends_with(".weight") || tensor.name.ends_with(".bias")) << tensor.name;
    EXPECT_EQ(expected_.contains(tensor.name), tensor.grouped != nullptr) << tensor.name;
  }
}

// A minimum is off by half a unit in the last place of float16, 2^-11 of it; scales are exact.
TEST_P(Quantised, KeepsTheIntegersUpToTheRoundingOfTheMinimum) {
  for (const auto& [name, want] : expected_.items()) {
    SCOPED_TRACE(name);
    const StoredTensor& tensor = *checkpoint_->Find(name);
    const std::optional<QuantizedMatrix> kept = checkpoint_->ReadKept(tensor);
    ASSERT_EQ(kept.has_value(), !tensor.reordered());
    if (!kept) continue;
    EXPECT_EQ(kept->scheme, tensor.kept_as());
    EXPECT_EQ(Info(kept->scheme).bits, want["bits"].get<int>());
    EXPECT_EQ(kept->n * kept->k, tensor.shape.elements());
    const std::vector<float> values = checkpoint_->ReadFloats(tensor).value();
    std::vector<float> row(kept->k);
    for (int64_t i = 0; i < tensor.shape.elements(); ++i) {
      const int64_t r = i / kept->k, c = i % kept->k;
      if (c == 0) kept->DequantizeRow(r, row.data());
      const bool exact = want["symmetric"].get<bool>();
      const float tolerance = exact ? 0 : std::abs(kept->AffineOf(r, c).min) * 0.00049f;
      ASSERT_NEAR(row[c], values[i], tolerance) << r << " " << c;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Folders, Quantised, ::testing::ValuesIn(kFolders));

Scheme SchemeOf(const char* folder, std::string_view name) {
  const auto checkpoint = Checkpoint::Open(kData / folder).value();
  return checkpoint->Find(fmt::format("model.layers.0.{}.weight", name))->kept_as().value();
}

TEST(JoinQuantised, GroupsBecomeTheWidestBlocksThatHoldThem) {
  EXPECT_EQ(SchemeOf("gptq-4bit-32", "mlp.down_proj"), Scheme::kW4Affine32);
  EXPECT_EQ(SchemeOf("compressed-4bit-64", "mlp.down_proj"), Scheme::kW4Block64);
  EXPECT_EQ(SchemeOf("awq-4bit-128", "mlp.down_proj"), Scheme::kW4Affine128);
  EXPECT_EQ(SchemeOf("compressed-4bit-channel", "mlp.down_proj"), Scheme::kW4Affine128);
  EXPECT_EQ(SchemeOf("gptq-4bit-channel", "mlp.down_proj"), Scheme::kW4Channel);
  EXPECT_EQ(SchemeOf("gptq-8bit-128", "mlp.down_proj"), Scheme::kW8Block32);
  EXPECT_EQ(SchemeOf("gptq-8bit-128", "self_attn.q_proj"), Scheme::kW8Channel);  // one group a row
}

// Folders with one linear layer "x" [n, k] of tensors full of zeros, or of another byte.
class Broken : public ::testing::Test {
 protected:
  struct Part {
    std::string dtype;
    std::vector<int64_t> shape;
    char fill = 0;                // every byte
    std::vector<int64_t> values;  // of I64, instead
  };
  using Parts = std::map<std::string, Part>;

  static Parts Gptq() {
    return {{"x.qweight", {"I32", {8, 16}}},
            {"x.qzeros", {"I32", {2, 2}}},
            {"x.scales", {"F16", {2, 16}}},
            {"x.g_idx", {"I32", {64}}}};
  }
  static Parts Awq() {
    return {{"x.qweight", {"I32", {64, 2}}},
            {"x.qzeros", {"I32", {2, 2}}},
            {"x.scales", {"F16", {2, 16}}}};
  }
  static Parts Compressed() {
    return {{"x.weight_packed", {"I32", {0, 8}}},
            {"x.weight_scale", {"BF16", {0, 2}}},
            {"x.weight_shape", {"I64", {2}}}};
  }
  // 4 bits, rows of 64 columns in two groups.
  static Parts WholeCompressed() {
    Parts parts = Compressed();
    parts["x.weight_packed"].shape = {16, 8};
    parts["x.weight_scale"].shape = {16, 2};
    parts["x.weight_shape"].values = {16, 64};
    return parts;
  }
  // Of one group with these fields instead of its own.
  static Json CompressedConfig(const Json& fields = Json::object()) {
    Json weights = {{"num_bits", 4},
                    {"type", "int"},
                    {"symmetric", true},
                    {"strategy", "group"},
                    {"group_size", 32}};
    weights.update(fields);
    return {{"quant_method", "compressed-tensors"},
            {"format", "pack-quantized"},
            {"config_groups", {{"group_0", {{"targets", {"Linear"}}, {"weights", weights}}}}}};
  }
  static Json GptqConfig() { return {{"quant_method", "gptq"}, {"bits", 4}, {"group_size", 32}}; }
  static Json AwqConfig() { return {{"quant_method", "awq"}, {"bits", 4}, {"group_size", 32}}; }

  Result<std::unique_ptr<Checkpoint>> Open(const Json& quantisation, const Parts& parts) {
    Json config = Json::object();
    if (!quantisation.is_null()) config["quantization_config"] = quantisation;
    folder_.Write("config.json", config.dump());
    folder_.Write("model.safetensors", Safetensors(parts));
    return Checkpoint::Open(folder_.path());
  }
  std::string Error(const Json& quantisation, const Parts& parts, Code code) {
    const auto result = Open(quantisation, parts);
    if (result) return "no error";
    EXPECT_EQ(result.error().code, code) << result.error().ToString();
    return result.error().ToString();
  }
  static std::string Safetensors(const Parts& parts) {
    const std::map<std::string, int64_t> sizes = {
        {"I64", 8}, {"I32", 4}, {"F16", 2}, {"BF16", 2}, {"I8", 1}};
    Json header = Json::object();
    int64_t end = 0;
    std::string data;
    for (const auto& [name, part] : parts) {
      const int64_t begin = end;
      end += Shape(part.shape).elements() * sizes.at(part.dtype);
      header[name] = {{"dtype", part.dtype}, {"shape", part.shape}, {"data_offsets", {begin, end}}};
      data.append(static_cast<size_t>(end - begin), part.fill);
      if (!part.values.empty()) std::memcpy(&data[begin], part.values.data(), end - begin);
    }
    const std::string text = header.dump();
    const uint64_t size = text.size();
    return std::string(reinterpret_cast<const char*>(&size), 8) + text + data;
  }

  testing::Folder folder_;
};

TEST_F(Broken, WholeOnesOpen) {
  ASSERT_EQ(Error(GptqConfig(), Gptq(), Code::kCorrupt), "no error");
  const auto checkpoint = Open(AwqConfig(), Awq()).value();
  EXPECT_EQ(checkpoint->Find("x.weight")->shape, (Shape{16, 64}));
  // All of the 64 columns of this g_idx are of group 0.
  EXPECT_TRUE(Open(GptqConfig(), Gptq()).value()->Find("x.weight")->reordered());
}

TEST_F(Broken, MethodsAndVariantsThatAreNotHandledAreNamed) {
  Json config = GptqConfig();
  config["quant_method"] = "bitsandbytes";
  EXPECT_THAT(Error(config, Gptq(), Code::kUnsupported),
              AllOf(HasSubstr("'bitsandbytes'"), HasSubstr("gptq, awq, compressed-tensors")));
  config = GptqConfig();
  config["bits"] = 3;
  EXPECT_THAT(Error(config, Gptq(), Code::kUnsupported),
              AllOf(HasSubstr("3 bits"), HasSubstr("4 or 8")));
  config["bits"] = "four";
  EXPECT_THAT(Error(config, Gptq(), Code::kCorrupt), HasSubstr("bits"));
  config = GptqConfig();
  config["checkpoint_format"] = "marlin";
  EXPECT_THAT(Error(config, Gptq(), Code::kUnsupported),
              AllOf(HasSubstr("'marlin'"), HasSubstr("gptq_v2")));
  config = AwqConfig();
  config["version"] = "GEMV";
  EXPECT_THAT(Error(config, Awq(), Code::kUnsupported), HasSubstr("gemm"));
  config["version"] = "GEMM";
  EXPECT_EQ(Error(config, Awq(), Code::kUnsupported), "no error");
}

TEST_F(Broken, VariantsOfCompressedTensorsAreNamed) {
  Json config = {{"quant_method", "compressed-tensors"}, {"format", "float-quantized"}};
  EXPECT_THAT(Error(config, Compressed(), Code::kUnsupported), HasSubstr("pack-quantized"));
  config["format"] = "pack-quantized";
  config["transform_config"] = {{"config_groups", {{"R1", Json::object()}}}};
  EXPECT_THAT(Error(config, Compressed(), Code::kUnsupported), HasSubstr("transform_config"));
  config.erase("transform_config");
  EXPECT_THAT(Error(config, Compressed(), Code::kCorrupt), HasSubstr("'config_groups'"));
  config = CompressedConfig();
  EXPECT_THAT(Error(config, Compressed(), Code::kCorrupt), HasSubstr("x.weight_packed"));
  Parts parts = Compressed();
  parts["x.weight_packed"].shape = {16, 8};  // weight_shape is [0, 0]
  EXPECT_THAT(Error(config, parts, Code::kUnsupported), HasSubstr("4 or 8 bits"));
}

TEST_F(Broken, FieldsOfCompressedTensorsThatAreNotHandledAreNamed) {
  EXPECT_EQ(Error(CompressedConfig(), WholeCompressed(), Code::kCorrupt), "no error");
  struct Case {
    Json fields;
    Code code;
    const char* says;
    const char* wants;
  };
  const Case cases[] = {
      {{{"type", "float"}}, Code::kUnsupported, "type 'float'", "int"},
      {{{"num_bits", 3}}, Code::kUnsupported, "3 bits", "4 or 8"},
      {{{"num_bits", 8}}, Code::kCorrupt, "'x.weight_packed'", "integers of 8 bits"},
      {{{"num_bits", nullptr}}, Code::kCorrupt, "'x.weight_packed'", "integers of 8 bits"},
      {{{"group_size", 0}}, Code::kCorrupt, "'group_size'", "-1 for one group a row"},
      {{{"group_size", -32}}, Code::kCorrupt, "'group_size'", "-1 for one group a row"},
      {{{"group_size", nullptr}}, Code::kCorrupt, "strategy 'group'", "a number of columns"},
      {{{"group_size", 64}}, Code::kCorrupt, "'x.weight_scale'", "groups of 64"},
      {{{"strategy", "channel"}}, Code::kCorrupt, "strategy 'channel'", "null or -1"},
      {{{"strategy", "channel"}, {"group_size", -1}},
       Code::kCorrupt,
       "'x.weight_scale'",
       "groups of 64"},
      {{{"strategy", "tensor"}}, Code::kUnsupported, "'tensor'", "group or channel"},
      {{{"actorder", "sideways"}}, Code::kUnsupported, "'sideways'", "group or weight"},
  };
  for (const Case& c : cases) {
    EXPECT_THAT(Error(CompressedConfig(c.fields), WholeCompressed(), c.code),
                AllOf(HasSubstr(c.says), HasSubstr(c.wants)))
        << c.fields;
  }
}

TEST_F(Broken, PackedTensorsWithNoConfigGroupAreNamed) {
  Json config = CompressedConfig();
  for (const Json& groups : {Json::object(), Json{{"kv", {{"weights", nullptr}}}}}) {
    config["config_groups"] = groups;
    EXPECT_THAT(Error(config, WholeCompressed(), Code::kCorrupt),
                AllOf(HasSubstr("'x.weight_packed'"), HasSubstr("config_groups")));
  }
  config["config_groups"] = {{"g", 3}};
  EXPECT_THAT(Error(config, WholeCompressed(), Code::kCorrupt), HasSubstr("config_groups['g']"));
}

TEST_F(Broken, AMatrixIsAsOneOfTheConfigGroupsSays) {
  Json config = CompressedConfig({{"num_bits", 8}, {"symmetric", false}});
  const Json other = CompressedConfig()["config_groups"]["group_0"];
  config["config_groups"]["group_1"] = other;
  EXPECT_EQ(Error(config, WholeCompressed(), Code::kCorrupt), "no error");
  config["config_groups"]["group_1"]["weights"]["symmetric"] = false;
  EXPECT_THAT(Error(config, WholeCompressed(), Code::kNotFound),
              HasSubstr("'x.weight_zero_point' is missing"));
  config["config_groups"]["group_1"]["weights"]["group_size"] = 128;
  config["config_groups"]["group_0"]["weights"] = other["weights"];
  config["config_groups"]["group_0"]["weights"]["group_size"] = 64;
  EXPECT_THAT(Error(config, WholeCompressed(), Code::kCorrupt), HasSubstr("groups of 64 or 128"));
}

TEST_F(Broken, ZeroPointsAndGroupIndicesThatTheConfigPromisesAreNamed) {
  EXPECT_THAT(Error(CompressedConfig({{"symmetric", false}}), WholeCompressed(), Code::kNotFound),
              HasSubstr("tensor 'x.weight_zero_point' is missing"));
  Parts parts = WholeCompressed();
  parts["x.weight_zero_point"] = {"I32", {2, 2}};
  EXPECT_EQ(Error(CompressedConfig({{"symmetric", false}}), parts, Code::kNotFound), "no error");
  for (const Json& order : {Json("group"), Json(true)}) {
    EXPECT_THAT(Error(CompressedConfig({{"actorder", order}}), WholeCompressed(), Code::kNotFound),
                HasSubstr("tensor 'x.weight_g_idx' is missing"));
  }
  EXPECT_EQ(Error(CompressedConfig({{"actorder", "weight"}}), WholeCompressed(), Code::kNotFound),
            "no error");
  Json config = GptqConfig();
  config["desc_act"] = true;
  EXPECT_EQ(Error(config, Gptq(), Code::kNotFound), "no error");
  parts = Gptq();
  parts.erase("x.g_idx");
  EXPECT_THAT(Error(config, parts, Code::kNotFound), HasSubstr("tensor 'x.g_idx' is missing"));
}

TEST_F(Broken, ContradictionsOfGptqAndAwqAreNamed) {
  for (const int64_t size : {0, -2}) {
    Json config = GptqConfig();
    config["group_size"] = size;
    EXPECT_THAT(Error(config, Gptq(), Code::kCorrupt),
                AllOf(HasSubstr("'group_size'"), HasSubstr(fmt::format("got {}", size))));
  }
  Json config = AwqConfig();
  config["zero_point"] = false;
  EXPECT_THAT(Error(config, Awq(), Code::kUnsupported),
              AllOf(HasSubstr("zero_point 'false'"), HasSubstr("qzeros")));
}

TEST_F(Broken, MissingPartsAreNamed) {
  for (const char* part : {"x.qzeros", "x.scales"}) {
    Parts parts = Gptq();
    parts.erase(part);
    EXPECT_THAT(Error(GptqConfig(), parts, Code::kNotFound), HasSubstr(part));
  }
  Parts parts = Gptq();
  parts.erase("x.g_idx");
  EXPECT_FALSE(Open(GptqConfig(), parts).value()->Find("x.weight")->reordered());
  EXPECT_THAT(Error(nullptr, Gptq(), Code::kInvalidInput), HasSubstr("quantize_config.json"));
  parts["x.weight"] = {"F16", {16, 64}};
  EXPECT_THAT(Error(GptqConfig(), parts, Code::kCorrupt), HasSubstr("'x.weight' is there too"));
}

TEST_F(Broken, WrongShapesAndTypesAreNamed) {
  const std::pair<const char*, Part> changes[] = {
      {"x.qweight", {"I32", {8}}},     {"x.qweight", {"I32", {8, 17}}},
      {"x.qweight", {"I32", {0, 16}}}, {"x.qzeros", {"I32", {2, 3}}},
      {"x.qzeros", {"I32", {1, 2}}},   {"x.scales", {"F16", {2}}},
      {"x.scales", {"F16", {2, 15}}},  {"x.scales", {"F16", {0, 16}}},
      {"x.scales", {"F16", {3, 16}}},  {"x.scales", {"F16", {1, 16}}},
      {"x.g_idx", {"I32", {63}}},
  };
  for (const auto& [name, part] : changes) {
    Parts parts = Gptq();
    parts[name] = part;
    SCOPED_TRACE(fmt::format("{} {}", name, Shape(part.shape)));
    EXPECT_THAT(Error(GptqConfig(), parts, Code::kCorrupt), HasSubstr("tensor 'x."));
  }
  for (const char* name : {"x.qweight", "x.qzeros", "x.g_idx", "x.scales"}) {
    Parts parts = Gptq();
    parts[name].dtype = "I8";
    EXPECT_THAT(Error(GptqConfig(), parts, Code::kUnsupported), HasSubstr(name));
  }
}

TEST_F(Broken, ColumnsOfNoGroupAreNamed) {
  for (const char fill : {'\1', '\xff'}) {  // 16843009 and -1
    Parts parts = Gptq();
    parts["x.g_idx"].fill = fill;
    EXPECT_THAT(Error(GptqConfig(), parts, Code::kCorrupt),
                AllOf(HasSubstr("'x.g_idx'"), HasSubstr("column 0"), HasSubstr("0 … 1")));
  }
}

TEST_F(Broken, ScalesThatAreNoNumbersAreNotKept) {
  Parts parts = Awq();
  parts["x.scales"].fill = '\x7e';
  const auto checkpoint = Open(AwqConfig(), parts).value();
  const StoredTensor& tensor = *checkpoint->Find("x.weight");
  EXPECT_FALSE(checkpoint->ReadKept(tensor).has_value());
  EXPECT_TRUE(std::isnan(checkpoint->ReadFloats(tensor).value()[0]));
}

TEST_F(Broken, SizesThatTheConfigDoesNotSayAreNamed) {
  for (const int64_t size : {64, 1 << 30, 0x7fffffff}) {
    Json config = GptqConfig();
    config["group_size"] = size;
    EXPECT_THAT(Error(config, Gptq(), Code::kCorrupt),
                AllOf(HasSubstr("groups of 32"), HasSubstr(fmt::format("groups of {}", size))));
  }
}

TEST_F(Broken, GroupsThatNoBlockHoldsAreNamed) {
  Parts parts = Gptq();
  parts["x.scales"].shape = {4, 16};
  parts["x.qzeros"].shape = {4, 2};
  Json config = GptqConfig();
  config["group_size"] = 16;
  EXPECT_THAT(Error(config, parts, Code::kUnsupported),
              AllOf(HasSubstr("groups of 16"), HasSubstr("multiple of 32")));
}

TEST_F(Broken, TheConfigMayBeInTheOlderFile) {
  folder_.Write("quantize_config.json", R"({"bits": 4, "group_size": 32, "desc_act": false})");
  const auto checkpoint = Open(nullptr, Gptq()).value();
  EXPECT_EQ(checkpoint->Find("x.weight")->type, StorageType::kGroups4);
  EXPECT_EQ(checkpoint->files().size(), 3u);
}

}  // namespace
}  // namespace hexlane
