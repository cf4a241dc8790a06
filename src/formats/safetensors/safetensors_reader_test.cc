#include "formats/safetensors/safetensors_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "base/json.h"
#include "formats/safetensors/safetensors_index.h"

namespace hexlane {
namespace {

using ::testing::HasSubstr;

std::string File(std::string header, size_t data_bytes) {
  uint64_t size = header.size();
  return std::string(reinterpret_cast<char*>(&size), 8) + header + std::string(data_bytes, 'd');
}
Result<SafetensorsFile> Read(const std::string& file) {
  return ReadSafetensors(std::as_bytes(std::span(file)), "t.safetensors");
}
std::string ErrorOf(const std::string& header, size_t data_bytes = 0) {
  const auto result = Read(File(header, data_bytes));
  return result ? "no error" : result.error().ToString();
}

TEST(Safetensors, AgreesWithTheLibraryOnEveryCase) {
  const std::string folder = HEXLANE_TEST_DATA "/containers/";
  const Json cases = ParseJson(*ReadTextFile(folder + "cases.json"), "cases.json").value();
  EXPECT_EQ(cases["safetensors"].size(), 27u);
  for (const Json& item : cases["safetensors"]) {
    const std::string name = item["file"];
    SCOPED_TRACE(name);
    const auto mapped = MappedFile::Open(folder + name).value();
    const auto result = ReadSafetensors(mapped->bytes(), name);
    ASSERT_EQ(result.has_value(), item["valid"].get<bool>());
    if (!result) {
      EXPECT_EQ(result.error().code, Code::kCorrupt);
      EXPECT_THAT(result.error().where, HasSubstr(name));
      continue;
    }
    Json got = Json::object();
    for (const StoredTensor& tensor : result->tensors)
      got[tensor.name] = {Info(tensor.type).name, Json(tensor.shape.dims())};
    EXPECT_EQ(got, item["safetensors_library"]);
  }
}

TEST(Safetensors, ReportsTruncationAtEveryLength) {
  const std::string whole =
      File(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"__metadata__":{"k":"v"}})", 8);
  ASSERT_TRUE(Read(whole).has_value());
  EXPECT_EQ(Read(whole)->metadata.at("k"), "v");
  for (size_t size = 0; size < whole.size(); ++size) {
    const auto result = Read(whole.substr(0, size));
    ASSERT_FALSE(result.has_value()) << size;
    ASSERT_THAT(result.error().where, HasSubstr("offset")) << size;
  }
}

TEST(Safetensors, NamesTheFieldAndTheOffset) {
  const auto one = [](const std::string& fields) { return ErrorOf("{\"a\":{" + fields + "}}", 4); };
  EXPECT_THAT(one(R"("dtype":1,"shape":[1],"data_offsets":[0,4])"), HasSubstr("bad 'dtype'"));
  EXPECT_THAT(one(R"("dtype":"Q4_0","shape":[1],"data_offsets":[0,4])"),
              HasSubstr("unknown 'dtype'"));
  EXPECT_THAT(one(R"("dtype":"F32","shape":[1.0],"data_offsets":[0,4])"), HasSubstr("bad 'shape'"));
  EXPECT_THAT(one(R"("dtype":"F32","shape":[-1],"data_offsets":[0,4])"), HasSubstr("bad 'shape'"));
  EXPECT_THAT(one(R"("dtype":"F32","shape":{},"data_offsets":[0,4])"), HasSubstr("bad 'shape'"));
  EXPECT_THAT(one(R"("dtype":"F32","shape":[1],"data_offsets":[0,4,4])"),
              HasSubstr("data_offsets"));
  EXPECT_THAT(one(R"("dtype":"F32","shape":[1],"data_offsets":[0,-4])"), HasSubstr("data_offsets"));
  EXPECT_THAT(one(R"("dtype":"F4","shape":[3],"data_offsets":[0,1])"), HasSubstr("whole bytes"));
  EXPECT_THAT(one(R"("dtype":"F32","shape":[4611686018427387904],"data_offsets":[0,4])"),
              HasSubstr("overflow"));
  EXPECT_THAT(ErrorOf(R"({"b":{},"a":3})"),
              HasSubstr("tensor 'a': not an object (at t.safetensors: offset 16"));
}

TEST(Safetensors, AllowsWhitespaceButNothingElseAroundTheObject) {
  EXPECT_EQ(ErrorOf(" \n{}  "), "no error");
  EXPECT_NE(ErrorOf(std::string("{}\0", 3)), "no error");
  EXPECT_NE(ErrorOf("\xef\xbb\xbf{}"), "no error");
  EXPECT_NE(ErrorOf("{}{}"), "no error");
  EXPECT_NE(ErrorOf("  "), "no error");
}

TEST(Safetensors, RefusesDuplicateNamesWhateverTheirContents) {
  const std::string entry = R"("a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]})";
  EXPECT_THAT(ErrorOf("{" + entry + "," + entry + "}"), HasSubstr("there twice"));
  EXPECT_THAT(ErrorOf(R"({"a":{"dtype":"U8","dtype":"U8","shape":[0],"data_offsets":[0,0]}})"),
              HasSubstr("there twice"));
  EXPECT_EQ(ErrorOf(R"({"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},)"
                    R"("b":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}})"),
            "no error");
}

TEST(Safetensors, RefusesDeepJsonAndManyDimensions) {
  EXPECT_THAT(ErrorOf("{\"a\":" + std::string(100000, '[') + "}"), HasSubstr("too deep"));
  std::string dims = "1";
  for (int i = 0; i < 8; ++i) dims += ",1";
  const auto result =
      Read(File(R"({"a":{"dtype":"U8","shape":[)" + dims + R"(],"data_offsets":[0,1]}})", 1));
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code, Code::kUnsupported);
}

TEST(SafetensorsIndex, ReadsTheMap) {
  const auto index =
      ReadSafetensorsIndex(R"({"weight_map":{"a":"x.safetensors","b":"y.safetensors"}})", "i");
  ASSERT_TRUE(index.has_value());
  EXPECT_EQ(index->shard_of.at("b"), "y.safetensors");
  EXPECT_EQ(index->shards.size(), 2u);
}

TEST(SafetensorsIndex, RefusesToLeaveItsFolder) {
  const char* const bad[] = {"../x.safetensors",
                             "/etc/x.safetensors",
                             "a/x.safetensors",
                             "..\\\\x.safetensors",
                             ".safetensors",
                             "..safetensors",
                             "",
                             "model.safetensors.index.json",
                             "x\\u0000.safetensors"};
  for (const char* name : bad) {
    SCOPED_TRACE(name);
    const auto result =
        ReadSafetensorsIndex(fmt::format(R"({{"weight_map":{{"a":"{}"}}}})", name), "i");
    ASSERT_FALSE(result.has_value());
    EXPECT_THAT(result.error().what, HasSubstr("bad shard name for tensor 'a'"));
  }
  for (const char* text : {"[]", "{}", R"({"weight_map":[]})", R"({"weight_map":{"a":{}}})", "{"})
    EXPECT_FALSE(ReadSafetensorsIndex(text, "i").has_value()) << text;
}

}  // namespace
}  // namespace hexlane
