// hexlane tokenize against what Hugging Face gives.
#include <gmock/gmock.h>

#include <sstream>

#include "models.h"

namespace hexlane::e2e {
namespace {

using testing::HasSubstr;

std::vector<Json> Lines(const std::string& text) {
  std::vector<Json> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(Json::parse(line));
  return lines;
}

TEST(CommandTokenize, LinesAreWhatHuggingFaceGives) {
  const Json cases = ReadJsonFile(TestData() / "tokenizers/smollm2.json")["cases"];
  std::string input;
  for (const Json& c : cases) {
    input += Json{{"text", c["text"]}}.dump() + "\n";
    input += Json{{"ids", c["ids"]}}.dump() + "\n";
  }
  const CliResult result = RunCli({"tokenize", SmolModel(), "--jsonl"}, {.input = input});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const std::vector<Json> lines = Lines(result.out);
  ASSERT_EQ(lines.size(), 2 * cases.size());
  for (size_t i = 0; i < cases.size(); ++i) {
    EXPECT_EQ(lines[2 * i]["ids"], cases[i]["ids"]) << cases[i]["name"];
    EXPECT_EQ(lines[2 * i]["ids_with_special"], cases[i]["ids_with_special"]) << cases[i]["name"];
    EXPECT_EQ(lines[2 * i + 1]["text"], cases[i]["decoded"]) << cases[i]["name"];
  }
}

TEST(CommandTokenize, ChatsAreWhatHuggingFaceRenders) {
  const Json cases = ReadJsonFile(TestData() / "chat/smollm2.json")["cases"];
  std::string input;
  for (const Json& c : cases)
    input += Json{{"messages", c["messages"]}, {"kwargs", c["kwargs"]}}.dump() + "\n";
  const CliResult result = RunCli({"tokenize", SmolModel(), "--jsonl"}, {.input = input});
  EXPECT_EQ(result.exit_code, 1) << "some cases must be refused";
  const std::vector<Json> lines = Lines(result.out);
  ASSERT_EQ(lines.size(), cases.size());
  for (size_t i = 0; i < cases.size(); ++i) {
    if (cases[i].contains("error"))
      EXPECT_TRUE(lines[i].contains("error")) << cases[i]["name"];
    else
      EXPECT_EQ(lines[i]["prompt"], cases[i]["expected"]) << cases[i]["name"];
  }
}

TEST(CommandTokenize, GoesBothWays) {
  const std::string model = SmolModel();
  const Json there = RunCli({"tokenize", model, "-p", "Hello world"}).json();
  EXPECT_EQ(there["text"], "Hello world");
  EXPECT_EQ(RunCli({"tokenize", model}, {.input = "Hello world"}).json(), there);
  std::string ids = there["ids"].dump();
  EXPECT_EQ(RunCli({"tokenize", model, "--decode", ids}).out, "Hello world\n");
  ids = ids.substr(1, ids.size() - 2);
  EXPECT_EQ(RunCli({"tokenize", model, "--decode", ids, "--json"}).json()["text"], "Hello world");
}

TEST(CommandTokenize, MessagesComeFromTheLineOrFromStandardInput) {
  const std::string model = SmolModel(), messages = R"([{"role":"user","content":"Hi"}])";
  const CliResult from_line = RunCli({"tokenize", model, "--chat", messages});
  EXPECT_EQ(from_line.exit_code, 0) << from_line.err;
  EXPECT_THAT(from_line.json()["prompt"].get<std::string>(), HasSubstr("user\nHi<|im_end|>"));
  for (const Arguments& arguments :
       {Arguments{"tokenize", model, "--chat"}, Arguments{"tokenize", "--chat", model}})
    EXPECT_EQ(RunCli(arguments, {.input = messages}).out, from_line.out);
  const CliResult prompt =
      RunCli({"tokenize", model, "--chat", "--print-prompt"}, {.input = messages});
  EXPECT_EQ(prompt.out, from_line.json()["prompt"].get<std::string>());
}

TEST(CommandTokenize, EveryBadLineGetsAnError) {
  const std::vector<std::string> bad = {
      "{",
      "[]",
      R"({"x":1})",
      R"({"ids":[99999999999]})",
      R"({"ids":[-1]})",
      R"({"ids":["a"]})",
      R"({"ids":[49152]})",
      R"({"text":7})",
      R"({"messages":"x"})",
      R"({"messages":[],"kwargs":[]})",
      R"({"messages":)" + std::string(100000, '['),
      "{\"text\":\"\xff\"}",
  };
  std::string input;
  for (const std::string& line : bad) input += line + "\n";
  const CliResult result =
      RunCli({"tokenize", SmolModel(), "--jsonl"}, {.input = input + "{\"text\":\"a\"}\n"});
  EXPECT_EQ(result.exit_code, 1) << result.err;
  const std::vector<Json> lines = Lines(result.out);
  ASSERT_EQ(lines.size(), bad.size() + 1);
  for (size_t i = 0; i < bad.size(); ++i)
    EXPECT_TRUE(lines[i].contains("error")) << bad[i].substr(0, 40) << " → " << lines[i].dump();
  EXPECT_TRUE(lines.back().contains("ids"));
}

}  // namespace
}  // namespace hexlane::e2e
