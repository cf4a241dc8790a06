#include "runtime/jinja/template.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

namespace hexlane::jinja {
namespace {

using Json = nlohmann::ordered_json;

Json ReadCases(const std::string& name) {
  std::ifstream stream(std::string(HEXLANE_TEST_DATA "/chat/") + name);
  return Json::parse(stream);
}

RenderOptions AtTestTime() {  // 2025-01-15 10:30:00, a Wednesday
  RenderOptions options;
  options.now.emplace();
  options.now->tm_year = 125;
  options.now->tm_mday = 15;
  options.now->tm_hour = 10;
  options.now->tm_min = 30;
  options.now->tm_wday = 3;
  options.now->tm_yday = 14;
  return options;
}

Result<std::string> Render(std::string_view source, const Json& context = Json::object()) {
  const Template parsed = TRY(Template::Parse(source));
  return parsed.Render(context, AtTestTime());
}

std::string RenderOrError(std::string_view source, const Json& context = Json::object()) {
  const Result<std::string> result = Render(source, context);
  return result ? *result : "error: " + result.error().ToString();
}

TEST(Jinja, ReportsTheLine) {
  EXPECT_EQ(RenderOrError("a\nb{{ 1 + x }}"), "error: 'x' is undefined (at chat template line 2)");
}

TEST(Jinja, RendersTheGoldenFeatureCases) {
  const Json data = ReadCases("jinja-features.json");
  for (const Json& item : data["cases"]) {
    const std::string source = item["template"];
    SCOPED_TRACE(source);
    const Result<std::string> result = Render(source, data["context"]);
    if (item.contains("error")) {
      EXPECT_FALSE(result.has_value()) << "want " << item["error"] << ", got " << *result;
    } else if (!result) {
      ADD_FAILURE() << result.error().ToString();
    } else {
      EXPECT_EQ(*result, item["expected"].get<std::string>());
    }
  }
}

}  // namespace
}  // namespace hexlane::jinja
