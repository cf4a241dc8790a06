#include "compiler/calibration/samples.h"

#include <gtest/gtest.h>

#include <numeric>

#include "base/file.h"
#include "base/json.h"
#include "base/testing/scratch_folder.h"
#include "compiler/calibration/calibration_source.h"
#include "runtime/tokenizer/tokenizer.h"

namespace hexlane {
namespace {

namespace fs = std::filesystem;
using Windows = std::vector<std::vector<int32_t>>;

// A token for each printable ASCII character, its code.
std::string AsciiTokenizer() {
  Json vocab = Json::object();
  for (int code = 33; code < 127; ++code) vocab[std::string(1, static_cast<char>(code))] = code;
  vocab["\u0120"] = 32, vocab["\u010a"] = 10;  // how the byte level writes a space, a new line
  const Json byte_level = {{"type", "ByteLevel"}, {"add_prefix_space", false}};
  return Json{{"version", "1.0"},
              {"added_tokens", Json::array()},
              {"normalizer", nullptr},
              {"pre_tokenizer", byte_level},
              {"post_processor", nullptr},
              {"decoder", byte_level},
              {"model", {{"type", "BPE"}, {"vocab", vocab}, {"merges", Json::array()}}}}
      .dump();
}
constexpr std::string_view kConfig =
    R"({"chat_template": "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}"})";

class SamplesTest : public testing::Test {
 protected:
  SamplesTest() {
    Result<std::unique_ptr<Tokenizer>> made = Tokenizer::FromJson(AsciiTokenizer());
    EXPECT_TRUE(made) << made.error().ToString();
    tokenizer_ = *std::move(made);
  }

  fs::path Write(const std::string& name, std::string_view text) const {
    const fs::path path = folder_ / name;
    fs::create_directories(path.parent_path());
    EXPECT_TRUE(WriteFileAtomically(path, text));
    return path;
  }

  SampleArgs Args(const fs::path& path) const {
    return {.path = path,
            .tokenizer = tokenizer_.get(),
            .tokenizer_config = kConfig,
            .vocab = 128,
            .tokens = 1000,
            .window = 8};
  }
  Samples Read(const SampleArgs& args) const {
    Result<Samples> samples = ReadSamples(args);
    EXPECT_TRUE(samples) << samples.error().ToString();
    return samples ? *std::move(samples) : Samples();
  }
  Error Refused(const fs::path& path) const {
    const Result<Samples> samples = ReadSamples(Args(path));
    EXPECT_FALSE(samples) << path;
    return samples ? Error() : samples.error();
  }

  const ScratchFolder scratch_;
  const fs::path folder_ = scratch_.path();
  std::unique_ptr<Tokenizer> tokenizer_;
};

std::string Text(const std::vector<int32_t>& ids) { return {ids.begin(), ids.end()}; }
std::vector<std::string> Texts(const Samples& samples) {
  std::vector<std::string> texts;
  for (const std::vector<int32_t>& window : samples.windows) texts.push_back(Text(window));
  return texts;
}
using Strings = std::vector<std::string>;
bool Has(const std::string& text, std::string_view part) { return text.find(part) != text.npos; }

TEST_F(SamplesTest, ATextIsOneStreamOfWholeWindows) {
  const Samples samples = Read(Args(Write("a.txt", "abcdefghABCDEFGHrest")));
  EXPECT_EQ(Texts(samples), (Strings{"abcdefgh", "ABCDEFGH"}));
  EXPECT_EQ(samples.found, 1u);
  EXPECT_EQ(samples.used, 1u);
}

TEST_F(SamplesTest, AFolderIsReadByNameAtAnyDepth) {
  Write("f/b.txt", "bb");
  Write("f/a/z.txt", "zz");
  Write("f/.hidden", std::string("\0", 1));
  EXPECT_EQ(Texts(Read(Args(folder_ / "f"))), (Strings{"zz", "bb"}));
}

TEST_F(SamplesTest, AFolderOfOtherThingsIsRefusedByTheFile) {
  Write("f/a.txt", "aa");
  Write("f/chats.jsonl", "[1]");
  const Error error = Refused(folder_ / "f");
  EXPECT_TRUE(Has(error.where, "chats.jsonl"));
  EXPECT_FALSE(error.remedy.empty());
  fs::create_directories(folder_ / "empty");
  EXPECT_TRUE(Has(Refused(folder_ / "empty").where, "empty"));
}

TEST_F(SamplesTest, ChatsAreRenderedAndStartWindowsOfTheirOwn) {
  const Samples samples = Read(Args(Write("chats.jsonl",
                                          R"({"messages": [{"role": "u", "content": "Hi"}]}

[{"role": "u", "content": "Hello"}, {"role": "a", "content": "Bye"}]
)")));
  EXPECT_EQ(Texts(samples), (Strings{"<u>Hi", "<u>Hello", "<a>Bye"}));
  EXPECT_EQ(samples.used, 2u);
}

TEST_F(SamplesTest, IdsInJsonLinesNeedNoTokenizer) {
  SampleArgs args = Args(Write("ids.jsonl", "[72, 105]\r\n{\"input_ids\": [1, 2, 3]}"));
  args.tokenizer = nullptr;
  EXPECT_EQ(Read(args).windows, (Windows{{72, 105}, {1, 2, 3}}));
}

TEST_F(SamplesTest, ErrorsNameTheFileAndTheLine) {
  const std::string good = "[72, 105]\n\n";
  const std::string bad[] = {
      "{\"messages\": ",       "[128]",      "[-1]",  "[]",
      "{\"text\": \"Hi\"}",    "[1, \"a\"]", "[1.5]", "[18446744073709551615]",
      "[{\"role\": \"u\"}, 3]"};
  for (const std::string& line : bad) {
    const Error error = Refused(Write("bad.jsonl", good + line));
    EXPECT_TRUE(Has(error.where, "bad.jsonl: line 3")) << line << error.ToString();
    EXPECT_FALSE(error.what.empty()) << line;
  }
}

TEST_F(SamplesTest, AChatWithoutATemplateSaysWhatToDo) {
  SampleArgs args = Args(Write("chats.jsonl", R"([{"role": "u", "content": "Hi"}])"));
  for (const std::string_view config : {"", "{}"}) {
    args.tokenizer_config = config;
    const Result<Samples> samples = ReadSamples(args);
    ASSERT_FALSE(samples);
    EXPECT_EQ(samples.error().code, Code::kNotFound);
    EXPECT_TRUE(Has(samples.error().where, "chats.jsonl: line 1"));
    EXPECT_FALSE(samples.error().remedy.empty());
  }
}

TEST_F(SamplesTest, TextWithoutATokenizerIsRefused) {
  SampleArgs args = Args(Write("a.txt", "abc"));
  args.tokenizer = nullptr;
  EXPECT_EQ(ReadSamples(args).error().code, Code::kNotFound);
}

TEST_F(SamplesTest, LongSamplesGoIntoSeveralWindowsAndTheBudgetEndsThem) {
  std::vector<int> ids(20);
  std::iota(ids.begin(), ids.end(), 1);
  const std::string row = Json(ids).dump();
  SampleArgs args = Args(Write("ids.jsonl", row + "\n[50]\n[51]\n"));
  Samples samples = Read(args);
  ASSERT_EQ(samples.windows.size(), 5u);
  EXPECT_EQ(samples.windows[2], (std::vector<int32_t>{17, 18, 19, 20}));
  args.tokens = 9;
  samples = Read(args);
  EXPECT_EQ(samples.windows.size(), 2u);
  EXPECT_EQ(samples.used, 1u);
  EXPECT_EQ(samples.found, 3u);
}

TEST_F(SamplesTest, InputListsNameTensors) {
  const fs::path data = fs::path(HEXLANE_TEST_DATA) / "calibration";
  fs::copy_file(data / "ids_i4.raw", folder_ / "near.raw");
  const Samples samples = Read(Args(
      Write("input_list.txt", "#logits\ninput_ids:=near.raw\n" + (data / "ids_i8.raw").string() +
                                  "\n" + (data / "rows_i8.npy").string())));
  EXPECT_EQ(Texts(samples), (Strings{"Hello", "Hello", "Hello", "olleH"}));
  EXPECT_EQ(samples.found, 3u);
  EXPECT_EQ(samples.used, 3u);
}

TEST_F(SamplesTest, InputListsWithOtherInputsAreRefusedByName) {
  Write("a.raw", "abcd");
  const auto refused = [&](std::string_view line) {
    const Error error = Refused(Write("input_list.txt", fmt::format("# out\n{}", line)));
    EXPECT_TRUE(Has(error.where, "input_list.txt: line 2")) << error.ToString();
    return error;
  };
  const Error other = refused("input_ids:=a.raw attention_mask:=a.raw");
  EXPECT_TRUE(Has(other.what, "'attention_mask'"));
  EXPECT_TRUE(Has(other.want, "input_ids alone"));
  EXPECT_TRUE(Has(refused("a.raw a.raw").what, "2 inputs"));
  EXPECT_EQ(refused("gone.raw").code, Code::kNotFound);
  EXPECT_TRUE(Has(refused("a.raw").what, "not in the vocabulary"));
  const fs::path floats = fs::path(HEXLANE_TEST_DATA) / "calibration/floats.raw";
  EXPECT_TRUE(Has(refused(floats.string()).remedy, "int32 or int64"));
}

TEST_F(SamplesTest, KindsAreToldByNameOrContent) {
  const auto kind = [&](const std::string& name, std::string_view text) {
    return *FindSourceKind(Write(name, text));
  };
  EXPECT_EQ(*FindSourceKind({}), SourceKind::kBuiltIn);
  EXPECT_EQ(*FindSourceKind(folder_), SourceKind::kFolder);
  EXPECT_EQ(kind("prose.txt", "[Chapter 1] It was\n"), SourceKind::kText);
  EXPECT_EQ(kind("chats.txt", "[{\"role\": \"user\"}]\n"), SourceKind::kJsonLines);
  EXPECT_EQ(kind("chats.json", "[\n1]"), SourceKind::kJsonLines);
  EXPECT_EQ(kind("list.txt", "%out\nx:=a.raw"), SourceKind::kInputList);
  EXPECT_EQ(kind("list2.txt", "a/b.npy\n"), SourceKind::kInputList);
  EXPECT_EQ(kind("input_list_1.txt", "a"), SourceKind::kInputList);
  EXPECT_EQ(kind("array", "\x93NUMPY"), SourceKind::kNpy);
  EXPECT_EQ(FindSourceKind(folder_ / "none").error().code, Code::kNotFound);
  const Result<SourceKind> binary = FindSourceKind(Write("x.bin", std::string("a\0b", 3)));
  ASSERT_FALSE(binary);
  EXPECT_TRUE(Has(binary.error().where, "x.bin"));
}

TEST_F(SamplesTest, TheDigestCoversEveryFileThatIsRead) {
  const fs::path raw = Write("a.raw", "abcd"), list = Write("input_list.txt", "a.raw");
  const std::string before = *CalibrationDigest(list);
  EXPECT_EQ(*CalibrationDigest(list), before);
  Write("a.raw", "abce");
  EXPECT_NE(*CalibrationDigest(list), before);
  EXPECT_EQ(CalibrationFiles(list)->size(), 2u);
  const fs::path text = Write("t.txt", "abc");
  EXPECT_EQ(*CalibrationDigest(text), *Sha256File(text));
  EXPECT_NE(*CalibrationDigest({}), *CalibrationDigest(text));
}

}  // namespace
}  // namespace hexlane
