#include "interp/gradient/backward.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/file.h"
#include "base/json.h"
#include "ir/text.h"
#include "op/dims.h"

namespace hexlane {
namespace {

// Made by tests/data/gradient/make_gradients.py from the ops' definitions.
Json Cases() {
  const std::string path = std::string(HEXLANE_TEST_DATA) + "/gradient/gradients.json";
  return Json::parse(*ReadTextFile(path))["cases"];
}

Graph GraphOf(const Json& test) {
  const auto constant = [&](std::string_view name) -> Result<Tensor> {
    const std::string key(name);
    const auto dims = test["shapes"][key].get<std::vector<int64_t>>();
    return Tensor::FromFloats(test["values"][key].get<std::vector<float>>(), Shape(dims));
  };
  Result<Graph> graph = Parse(test["graph"].get<std::string>(), "test", constant);
  if (!graph) ADD_FAILURE() << graph.error().ToString();
  return graph ? *std::move(graph) : Graph("none");
}

Bindings InputsOf(const Graph& graph, const Json& test) {
  Bindings inputs;
  for (const ValueId id : graph.inputs()) {
    const Value& value = graph.value(id);
    HostValue& input = inputs[value.name];
    input.shape = Specialise(value.shape, test["rows"], 0);
    if (value.dtype == DType::kI32)
      input.ints = {0};
    else if (input.shape.elements() > 0)
      input.floats = test["values"][value.name].get<std::vector<float>>();
  }
  return inputs;
}

using Gradients = std::map<std::string, std::vector<float>>;

Gradients GradientsOf(const Json& test, ThreadPool* pool) {
  const Graph graph = GraphOf(test);
  const Bindings inputs = InputsOf(graph, test);
  Interpreter interpreter(graph, {});
  const Result<RunValues> values = interpreter.Trace(inputs);
  if (!values) ADD_FAILURE() << values.error().ToString();
  BackwardArgs args{
      .graph = &graph, .interpreter = &interpreter, .values = &*values, .wanted = {}, .pool = pool};
  for (const auto& item : test["gradients"].items()) args.wanted.insert(graph.Find(item.key()));
  Gradients gradients;
  GoBack(args, test["dy"].get<std::vector<float>>(),
         [&](ValueId id, std::span<const float> gradient) {
           gradients[graph.value(id).name].assign(gradient.begin(), gradient.end());
         });
  return gradients;
}

// Every element is a sum of some dozens of products, none much larger than the largest element.
float Tolerance(const std::vector<float>& want) {
  constexpr float kRoundings = 64;
  float most = 0;
  for (const float value : want) most = std::max(most, std::abs(value));
  return kRoundings * 0x1p-24f * most;
}

TEST(GoBack, GivesTheGradientsOfTheOpsDefinitions) {
  const Json cases = Cases();
  ASSERT_EQ(cases.size(), 7u);
  for (const Json& test : cases) {
    const Gradients got = GradientsOf(test, nullptr);
    for (const auto& [name, json] : test["gradients"].items()) {
      SCOPED_TRACE(test["name"].get<std::string>() + ": " + name);
      const auto want = json.get<std::vector<float>>();
      ASSERT_TRUE(got.contains(name));
      ASSERT_EQ(got.at(name).size(), want.size());
      for (size_t i = 0; i < want.size(); ++i)
        ASSERT_NEAR(got.at(name)[i], want[i], Tolerance(want)) << "element " << i;
    }
  }
}

TEST(GoBack, ThreadsDoNotChangeGradients) {
  ThreadPool pool(3);
  for (const Json& test : Cases()) EXPECT_EQ(GradientsOf(test, nullptr), GradientsOf(test, &pool));
}

TEST(GoBack, GivesNothingThatIsNotWanted) {
  Json test = Cases()[0];
  test["gradients"] = {{"w", test["gradients"]["w"]}};
  const Gradients got = GradientsOf(test, nullptr);
  EXPECT_EQ(got.size(), 1u);
  EXPECT_TRUE(got.contains("w"));
}

}  // namespace
}  // namespace hexlane
