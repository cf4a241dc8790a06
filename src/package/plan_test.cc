#include "package/plan.h"

#include <gtest/gtest.h>

#include "package/testing.h"

namespace hexlane {
namespace {

// A plan of two parts: an embedding on the CPU, the rest on the NPU.
Plan TwoParts() {
  Plan plan = testing::TinyManifest().plan;
  plan.variants.push_back(
      {.name = "SM8650", .soc = "SM8650", .stages = {{1, 16}, {1, 32}, {4, 16}}});
  plan.variants[1].parts = {
      {"cpu", 0, 1, "ids", "hidden.0", {"cpu/model.tape"}, ""},
      {"qnn", 1, 2, "hidden.0", "logits", {"htp/SM8650.bin"}, "htp/SM8650.json"},
  };
  return plan;
}

// The error after `change` edited the sound plan's JSON.
template <typename Change>
std::string ErrorAfter(Change change) {
  Json json = ToJson(TwoParts());
  change(json);
  const auto plan = PlanFromJson(json, "m: plan");
  if (plan) return "no error";
  EXPECT_EQ(plan.error().code, Code::kCorrupt);
  return plan.error().ToString();
}

Json& Part(Json& json, int i) { return json["variants"][1]["parts"][i]; }

TEST(Plan, ComesBackFromJson) {
  const Json json = ToJson(TwoParts());
  const auto plan = PlanFromJson(json, "m: plan");
  ASSERT_TRUE(plan) << plan.error().ToString();
  EXPECT_EQ(ToJson(*plan), json);
  EXPECT_EQ(plan->model.eos_ids, std::vector<int32_t>{2});
  EXPECT_EQ(plan->Find("SM8650")->stages[2].name(), "r4c16");
  EXPECT_EQ(plan->Find("SM8650")->stages[2].past(), 12);
  EXPECT_EQ(plan->Find("SM8"), nullptr);
}

TEST(Plan, SpillFillMayBeUnknown) {
  Json json = ToJson(TwoParts());
  EXPECT_FALSE(Part(json, 1).contains("spill_fill_bytes"));
  EXPECT_EQ(PlanFromJson(json, "m")->variants[1].parts[1].spill_fill_bytes, std::nullopt);
  Part(json, 1)["spill_fill_bytes"] = 0;
  EXPECT_EQ(PlanFromJson(json, "m")->variants[1].parts[1].spill_fill_bytes, 0);
  EXPECT_EQ(ToJson(*PlanFromJson(json, "m")), json);
  for (const Json& bad : {Json(-1), Json("x"), Json(nullptr), Json(int64_t{1} << 41)}) {
    EXPECT_NE(ErrorAfter([&](Json& j) { Part(j, 1)["spill_fill_bytes"] = bad; }), "no error")
        << bad;
  }
}

TEST(Plan, NamesTheFieldThatIsOutOfRange) {
  EXPECT_EQ(ErrorAfter([](Json& j) { j["model"]["layers"] = 1 << 30; }),
            "field 'layers' is out of range (at m: plan.model): want 1..4096, got 1073741824");
  EXPECT_EQ(ErrorAfter([](Json& j) { j["model"].erase("vocab"); }),
            "bad field 'vocab' (at m: plan.model): want an integer, got nothing");
  EXPECT_NE(ErrorAfter([](Json& j) { j["model"]["eos_token_ids"] = {32}; }), "no error");
  EXPECT_NE(ErrorAfter([](Json& j) { j["model"]["eos_token_ids"] = {-1}; }), "no error");
  EXPECT_NE(ErrorAfter([](Json& j) { j["model"]["hidden"] = 0; }), "no error");
}

TEST(Plan, RefusesStagesThatDoNotFit) {
  const auto stages = [](Json value) {
    return ErrorAfter([&](Json& j) { j["variants"][1]["stages"] = value; });
  };
  EXPECT_EQ(stages(Json::array()), "no stages (at m: plan.variants[1])");
  EXPECT_NE(stages({{{"rows", 17}, {"context", 16}}}), "no error");
  EXPECT_NE(stages({{{"rows", 0}, {"context", 16}}}), "no error");
  EXPECT_EQ(stages({{{"rows", 4}, {"context", 16}}, {{"rows", 1}, {"context", 16}}}),
            "stages are not in ascending order (at m: plan.variants[1])");
  EXPECT_NE(stages({{{"rows", 1}, {"context", 16}}, {{"rows", 1}, {"context", 16}}}), "no error");
}

TEST(Plan, RefusesPartsThatDoNotFollowEachOther) {
  EXPECT_EQ(
      ErrorAfter([](Json& j) { Part(j, 1)["first_unit"] = 2, Part(j, 1)["unit_count"] = 1; }),
      "parts are not consecutive (at m: plan.variants[1].parts[1].first_unit): want 1, got 2");
  EXPECT_EQ(ErrorAfter([](Json& j) { Part(j, 1)["unit_count"] = 1; }),
            "the parts do not cover the model (at m: plan.variants[1].parts): "
            "want 3 units (embedding, layers, head), got 2");
  EXPECT_NE(ErrorAfter([](Json& j) { Part(j, 1)["unit_count"] = 3; }), "no error");
  EXPECT_NE(ErrorAfter([](Json& j) { Part(j, 1)["input"] = "hidden.9"; }), "no error");
  EXPECT_NE(ErrorAfter([](Json& j) { Part(j, 0)["input"] = "text"; }), "no error");
  EXPECT_NE(ErrorAfter([](Json& j) { Part(j, 1)["output"] = "hidden.1"; }), "no error");
  EXPECT_NE(ErrorAfter([](Json& j) { j["variants"][1]["parts"] = Json::array(); }), "no error");
}

TEST(Plan, RefusesFileNamesThatLeaveThePackage) {
  for (const char* name :
       {"../x", "a/../b", "/etc/passwd", "a//b", "", ".", "a/.", "a\\b", "a\nb"}) {
    EXPECT_NE(ErrorAfter([&](Json& j) { Part(j, 1)["files"][0] = name; }), "no error") << name;
    if (*name == '\0') continue;  // no contract
    EXPECT_NE(ErrorAfter([&](Json& j) { Part(j, 1)["contract"] = name; }), "no error") << name;
  }
  EXPECT_EQ(ErrorAfter([](Json& j) { Part(j, 1)["files"][0] = "a..b/.c"; }), "no error");
}

TEST(Plan, RefusesTwoVariantsOfOneName) {
  EXPECT_EQ(ErrorAfter([](Json& j) { j["variants"][1]["name"] = "null"; }),
            "variant 'null' appears twice (at m: plan.variants[1])");
}

TEST(Plan, SurvivesEveryFieldHavingEveryType) {
  const std::vector<Json> values = {nullptr,
                                    true,
                                    -1,
                                    1.5,
                                    1e300,
                                    "x",
                                    Json::array(),
                                    Json::object(),
                                    uint64_t{UINT64_MAX},
                                    Json::array({Json::array()})};
  const Json flat = ToJson(TwoParts()).flatten();
  for (const auto& [pointer, old] : flat.items()) {
    for (const Json& value : values) {
      Json json = ToJson(TwoParts());
      json[Json::json_pointer(pointer)] = value;
      const auto plan = PlanFromJson(json, "m");
      EXPECT_TRUE(!plan || PlanFromJson(ToJson(*plan), "m")) << pointer << " " << value;
    }
  }
}

}  // namespace
}  // namespace hexlane
