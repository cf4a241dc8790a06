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

void ExpectCases(const Json& data) {
  ASSERT_FALSE(data["cases"].empty());
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

TEST(Jinja, RendersTheGoldenFeatureCases) { ExpectCases(ReadCases("jinja-features.json")); }

TEST(Jinja, ComputesAsPythonDoes) { ExpectCases(ReadCases("jinja-python.json")); }

// Values from Python 3.11: '{:n}'.format(42) and so on, in the "C" locale.
TEST(Jinja, FormatsForNoLocaleAsForC) {
  EXPECT_EQ(
      RenderOrError("{{ '{:n}|{:08n}|{:n}|{:.2n}|{:>9n}'.format(42, 42, 1234.5, 1234.5, 0.5) }}"),
      "42|00000042|1234.5|1.2e+03|      0.5");
  EXPECT_FALSE(Render("{{ '{:,n}'.format(1234.5) }}").has_value());
  EXPECT_FALSE(Render("{{ '{:n}'.format('x') }}").has_value());
}

TEST(Jinja, ReportsWhatIsWrongAndOnWhichLine) {
  EXPECT_EQ(RenderOrError("a\nb{{ 1 + x }}"), "error: 'x' is undefined (at chat template line 2)");
  EXPECT_EQ(RenderOrError("{% if true %}\n\n{{ messages[0].role.x }}{% endif %}",
                          Json::parse(R"({"messages": []})")),
            "error: list object has no element 0 (at chat template line 3)");
  EXPECT_EQ(RenderOrError("\n{% nope %}"), "error: unknown tag 'nope' (at chat template line 2)");
  EXPECT_EQ(RenderOrError("{{ 1 }"), "error: unexpected '}' (at chat template line 1)");
  EXPECT_EQ(Template::Parse("{% include 'x' %}").error().code, Code::kUnsupported);
  EXPECT_EQ(Template::Parse("{% if %}").error().code, Code::kCorrupt);
  EXPECT_EQ(Render("{{ raise_exception('no') }}").error().code, Code::kInvalidInput);
}

std::string Repeated(std::string_view text, int count) {
  std::string out;
  for (int i = 0; i < count; ++i) out += text;
  return out;
}

// A namespace whose x begins as `start` and goes through `step` 64 times.
std::string Grow(std::string_view start, std::string_view step, std::string_view rest = "") {
  return fmt::format(
      "{{% set ns = namespace(x={0}, y={0}) %}}{{% for i in range(64) %}}{1}{{% endfor %}}{2}",
      start, step, rest);
}

// None of these may hang, exhaust memory or overflow the stack.
TEST(Jinja, StopsHostileTemplates) {
  const std::string_view pair = "{% set ns.x = [ns.x, ns.x] %}{% set ns.y = [ns.y, ns.y] %}";
  const std::vector<std::string> hostile = {
      "{% macro f(n) %}{{ f(n + 1) }}{% endmacro %}{{ f(0) }}",
      "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}",
      Grow("'ab'", "{% set ns.x = ns.x ~ ns.x %}"),
      Grow("[1]", "{% set ns.x = ns.x + ns.x %}"),
      Grow("[1]", pair, "{{ ns.x }}"),
      Grow("[1]", pair, "{{ ns.x | tojson }}"),
      Grow("[1]", pair, "{{ ns.x == ns.y }}"),
      "{% set ns = namespace(x=[]) %}{% for i in range(9999) %}{% set ns.x = [ns.x] %}{% endfor %}",
      "{{ 'a' * 99999999999 }}",
      "{{ [1] * 99999999999 }}",
      "{{ 'a' | center(99999999999) }}",
      "{{ '%99999999999d' % 1 }}",
      "{{ '{:99999999999}'.format(1) }}",
      "{{ 'a\nb' | indent(99999999999) }}",
      "{{ ('a' * 4000).replace('', 'b' * 100000) }}",
      "{{ range(99999999999) }}",
      "{{ 2 ** 999999999 }}",
      "{{ [1] | batch(2000000000, 0) | list }}",
      "{{ " + Repeated("(", 5000),
      "{{ " + Repeated("[", 5000),
      "{{ " + Repeated("not ", 5000) + "1 }}",
      "{{ " + Repeated("-", 5000) + "1 }}",
      "{{ 1" + Repeated(" + 1", 5000) + " }}",
      "{{ x" + Repeated(".y", 5000) + " }}",
      "{{ x" + Repeated("|e", 5000) + " }}",
      Repeated("{% if 1 %}", 5000),
      "{% set " + Repeated("(", 5000),
  };
  for (const std::string& source : hostile)
    EXPECT_FALSE(Render(source).has_value()) << source.substr(0, 200);
}

TEST(Jinja, FreesValuesThatHoldThemselves) {  // the sanitizer build looks for leaks
  EXPECT_EQ(RenderOrError("{% set ns = namespace() %}{% set ns.me = ns %}{{ ns.me is defined }}"),
            "True");
  EXPECT_EQ(RenderOrError("{% set ns = namespace() %}{% macro m() %}{{ ns.m is defined }}"
                          "{% endmacro %}{% set ns.m = m %}{{ ns.m() }}"),
            "True");
  EXPECT_EQ(RenderOrError("{% for i in [1] %}{{ loop.changed(loop) }}{% endfor %}"), "True");
  EXPECT_EQ(RenderOrError("{% set ns = namespace() %}{% for i in [1, 2] if i %}"
                          "{% set ns.l = loop %}{% endfor %}{{ ns.l.index }}"),
            "2");
}

TEST(Jinja, RespectsTheLimitsGiven) {
  const Template parsed = Template::Parse("{% for i in range(1000) %}abc{% endfor %}").value();
  RenderOptions options;
  options.max_output_bytes = 3000;
  EXPECT_EQ(parsed.Render(Json::object(), options).value().size(), 3000u);
  options.max_output_bytes = 2999;
  EXPECT_FALSE(parsed.Render(Json::object(), options).has_value());
  options.max_output_bytes = 3000;
  options.max_steps = 500;
  EXPECT_FALSE(parsed.Render(Json::object(), options).has_value());
}

TEST(Jinja, RefusesAContextThatNestsTooDeepOrIsNoObject) {
  Json deep = 1;
  for (int i = 0; i < 500; ++i) deep = Json::array({std::move(deep)});
  Json context = Json::object();
  context["deep"] = std::move(deep);
  EXPECT_FALSE(Render("{{ deep }}", context).has_value());
  EXPECT_FALSE(Render("", Json::array()).has_value());
}

TEST(Jinja, PassesMalformedUtf8Through) {
  const std::string text = "a\xFF\xC3|";
  EXPECT_EQ(RenderOrError(text + "{{ '\xE4\xBD' | length }}{{ '\xFFz'[1] }}"), text + "2z");
}

}  // namespace
}  // namespace hexlane::jinja
