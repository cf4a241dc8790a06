#include "runtime/chat/chat_template.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <span>

#include "base/file.h"

namespace hexlane {
namespace {

using Json = nlohmann::ordered_json;
using testing::HasSubstr;

const std::string kCases = HEXLANE_TEST_DATA "/chat/";
const std::string kTokenizers = HEXLANE_TEST_DATA "/../../.assets/tokenizers/";

Json ReadJson(const std::string& path) {
  std::ifstream stream(path);
  if (!stream) ADD_FAILURE() << path << " is missing: run tools/setup.sh";
  return stream ? Json::parse(stream) : Json::object();
}

std::tm TestTime() {  // 2025-01-15 10:30:00, a Wednesday
  std::tm now{};
  now.tm_year = 125;
  now.tm_mday = 15;
  now.tm_hour = 10;
  now.tm_min = 30;
  now.tm_wday = 3;
  now.tm_yday = 14;
  return now;
}

SpecialTokens TokensOf(const Json& data) {
  SpecialTokens tokens;
  for (const auto& [name, text] : data["special_tokens"].items())
    tokens.emplace_back(name, text.get<std::string>());
  return tokens;
}

Result<std::string> RenderCase(const ChatTemplate& chat, const Json& item) {
  ChatOptions options;
  options.now = TestTime();
  Json variables = item["kwargs"];
  const Json tools = variables.value("tools", Json());
  options.add_generation_prompt = variables.value("add_generation_prompt", false);
  options.continue_final_message = variables.value("continue_final_message", false);
  if (!tools.is_null()) options.tools = &tools;
  for (const char* known : {"tools", "add_generation_prompt", "continue_final_message"})
    variables.erase(known);
  options.variables = &variables;
  return chat.Render(item["messages"], options);
}

void ExpectCase(const ChatTemplate& chat, const Json& item) {
  SCOPED_TRACE(item["name"].get<std::string>());
  const Result<std::string> prompt = RenderCase(chat, item);
  if (item.contains("error")) {
    EXPECT_FALSE(prompt.has_value()) << "want " << item["error"] << ", got " << *prompt;
    return;
  }
  ASSERT_TRUE(prompt.has_value()) << prompt.error().ToString();
  if (item.contains("expected")) {
    EXPECT_EQ(*prompt, item["expected"].get<std::string>());
  } else {
    EXPECT_EQ(prompt->size(), item["expected_bytes"].get<size_t>());
    EXPECT_EQ(Sha256(std::as_bytes(std::span(*prompt))),
              item["expected_sha256"].get<std::string>());
  }
}

void ExpectCases(const Json& data, const std::string& source) {
  const Result<ChatTemplate> chat = ChatTemplate::Create(source, TokensOf(data));
  ASSERT_TRUE(chat.has_value()) << chat.error().ToString();
  ASSERT_FALSE(data["cases"].empty());
  for (const Json& item : data["cases"]) ExpectCase(*chat, item);
}

TEST(ChatTemplate, RendersSmolLm2AsHuggingFaceDoes) {
  const Json data = ReadJson(kCases + "smollm2.json");
  ExpectCases(data, data["chat_template"]);
}

TEST(ChatTemplate, RendersQwen3AsHuggingFaceDoes) {
  const Json data = ReadJson(kCases + "qwen3.json");
  ExpectCases(data, data["chat_template"]);
}

TEST(ChatTemplate, RendersLlama3AsHuggingFaceDoes) {
  for (const std::string name : {"llama3", "llama3_1"}) {
    SCOPED_TRACE(name);
    const Json data = ReadJson(kCases + name + ".json");
    const Json config = ReadJson(kTokenizers + name + "/tokenizer_config.json");
    ASSERT_TRUE(config.contains("chat_template"));
    ExpectCases(data, config["chat_template"]);
    const Result<ChatTemplate> chat = ChatTemplate::FromTokenizerConfig(config);
    ASSERT_TRUE(chat.has_value()) << chat.error().ToString();
    for (const Json& item : data["cases"]) ExpectCase(*chat, item);
  }
}

Result<ChatTemplate> FromConfig(std::string_view config) {
  return ChatTemplate::FromTokenizerConfig(Json::parse(config));
}

const Json kHello = Json::parse(R"([{"role": "user", "content": "Hi"}])");

TEST(ChatTemplate, ReadsSpecialTokensGivenAsTextOrAsObjects) {
  const Result<ChatTemplate> chat = FromConfig(R"({
    "bos_token": {"content": "<s>", "lstrip": false}, "eos_token": "</s>", "unk_token": null,
    "chat_template": "{{ bos_token }}{{ eos_token }}{{ unk_token is defined }}"})");
  ASSERT_TRUE(chat.has_value());
  EXPECT_EQ(chat->Render(kHello).value(), "<s></s>False");
}

TEST(ChatTemplate, UsesTheToolTemplateOnlyWithTools) {
  const Result<ChatTemplate> chat = FromConfig(R"({"chat_template": [
    {"name": "default", "template": "plain {{ tools is none }}"},
    {"name": "tool_use", "template": "tools {{ tools | length }}"}]})");
  ASSERT_TRUE(chat.has_value());
  const Json tools = Json::parse("[{}]");
  ChatOptions options;
  EXPECT_EQ(chat->Render(kHello, options).value(), "plain True");
  options.tools = &tools;
  EXPECT_EQ(chat->Render(kHello, options).value(), "tools 1");
}

TEST(ChatTemplate, SaysThatAModelHasNone) {
  EXPECT_EQ(FromConfig("{}").error().code, Code::kNotFound);
  EXPECT_EQ(FromConfig(R"({"chat_template": []})").error().code, Code::kNotFound);
  EXPECT_EQ(FromConfig("[]").error().code, Code::kCorrupt);
}

TEST(ChatTemplate, ReportsTheTemplatesOwnRefusalWithItsLine) {
  const Result<ChatTemplate> chat =
      ChatTemplate::Create("\n{{ raise_exception('no ' + messages[0].role + ' here') }}", {});
  ASSERT_TRUE(chat.has_value());
  const Error error = chat->Render(kHello).error();
  EXPECT_EQ(error.what, "no user here");
  EXPECT_EQ(error.where, "chat template line 2");
}

TEST(ChatTemplate, RefusesMessagesThatAreNoArrayAndTwoWaysToEnd) {
  const Result<ChatTemplate> chat = ChatTemplate::Create("", {});
  ASSERT_TRUE(chat.has_value());
  EXPECT_FALSE(chat->Render(Json::object()).has_value());
  ChatOptions both;
  both.add_generation_prompt = both.continue_final_message = true;
  EXPECT_EQ(chat->Render(kHello, both).error().code, Code::kUsage);
  ChatOptions options;
  options.continue_final_message = true;
  EXPECT_FALSE(chat->Render(Json::array(), options).has_value());
  EXPECT_THAT(chat->Render(kHello, options).error().what, HasSubstr("changes its text"));
}

TEST(ChatTemplate, ContinuesTheLastTextPart) {
  const Result<ChatTemplate> chat =
      ChatTemplate::Create("{{ messages[0].content[0].text }}<end>", {});
  ASSERT_TRUE(chat.has_value());
  ChatOptions options;
  options.continue_final_message = true;
  const Json messages =
      Json::parse(R"([{"role": "assistant", "content": [{"type": "text", "text": "So "}]}])");
  EXPECT_EQ(chat->Render(messages, options).value(), "So ");
}

}  // namespace
}  // namespace hexlane
