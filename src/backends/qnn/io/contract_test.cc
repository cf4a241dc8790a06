#include "backends/qnn/io/contract.h"

#include <gtest/gtest.h>

#include <cmath>

#include "backends/qnn/driver/must.h"
#include "backends/qnn/io/stage_io.h"
#include "base/encoding.h"

namespace hexlane::qnn {
namespace {

TensorInfo Info(std::string name, TensorSpec spec) { return {std::move(name), 1, std::move(spec)}; }

// Two rows, context 5: hidden, tables, mask and one layer's cache.
Contract Sample() {
  Contract contract;
  contract.soc = 57;
  contract.ropes = {{{1.0f, 0.5f}, 1.0f}};
  contract.masks = {{0, -1000.0f}};
  GraphContract graph;
  graph.name = "r2c5";
  graph.file = "htp/x.bin";
  graph.rows = 2;
  graph.context = 5;
  const auto f16 = [](Shape shape) { return TensorSpec{DataType::kF16, shape, {}}; };
  const TensorSpec u8 = {DataType::kUFixed8, {1, 1, 4, 3}, PerTensor{0.5f, -128}};
  graph.inputs = {{Role::kHidden, 0, "embed.out", Info("hidden_in", f16({1, 1, 2, 4}))},
                  {Role::kCos, 0, "", Info("cos", f16({1, 1, 2, 2}))},
                  {Role::kMask, 0, "", Info("mask", f16({1, 1, 2, 5}))},
                  {Role::kPastKey, 0, "", Info("past_key_0_in", u8)}};
  TensorSpec fresh = u8;
  fresh.shape = {1, 1, 4, 2};
  graph.outputs = {{Role::kHidden, 0, "layers.0.out", Info("hidden_out", f16({1, 1, 2, 4}))},
                   {Role::kNewKey, 0, "", Info("past_key_0_out", fresh)}};
  contract.graphs.push_back(graph);
  return contract;
}

TEST(Contract, SurvivesJson) {
  const Json json = ToJson(Sample());
  EXPECT_EQ(ToJson(MUST(ContractFromJson(json, "c"))), json);
}

TEST(Contract, RefusesWhatExecutionCouldNotTrust) {
  const auto refused = [](const char* pointer, Json value) {
    Json json = ToJson(Sample());
    json[Json::json_pointer(pointer)] = std::move(value);
    const auto result = ContractFromJson(json, "c");
    return !result.has_value() && result.error().where.starts_with("c");
  };
  EXPECT_TRUE(refused("/version", 2));
  EXPECT_TRUE(refused("/graphs/0/rows", 9));
  EXPECT_TRUE(refused("/graphs/0/inputs/0/role", "nonsense"));
  EXPECT_TRUE(refused("/graphs/0/inputs/0/type", "f64"));
  EXPECT_TRUE(refused("/graphs/0/inputs/0/shape", Json::array({1, 1, 3, 4})));
  EXPECT_TRUE(refused("/graphs/0/inputs/0/shape", Json::array({1, 1, 2, 4000000000})));
  EXPECT_TRUE(refused("/graphs/0/inputs/1/index", 1));
  EXPECT_TRUE(refused("/graphs/0/inputs/2/shape", Json::array({1, 1, 2, 6})));
  EXPECT_TRUE(refused("/graphs/0/inputs/3/scale", -1.0));
  EXPECT_TRUE(refused("/graphs/0/inputs/3/index", 7));
  EXPECT_TRUE(refused("/graphs/0/outputs/1/shape", Json::array({2, 1, 4, 2})));
}

std::vector<float> Floats(std::span<const std::byte> bytes) {
  std::vector<float> values(bytes.size() / 2);
  hexlane::DecodeValues(bytes, {.dtype = DType::kF16}, values);
  return values;
}

TEST(StageIo, MaskShowsTheCacheAndTheRowsBefore) {
  const Contract contract = Sample();
  StageIo io(contract, contract.graphs[0]);
  const std::vector<float> hidden(4, 1.0f);
  MUST(io.Fill({.rows = 1, .past_len = 1, .hidden = hidden}));
  constexpr float kHidden = -1000;
  EXPECT_EQ(Floats(io.input(2)), (std::vector<float>{0, kHidden, kHidden, 0, kHidden,  //
                                                     0, kHidden, kHidden, 0, 0}));
  EXPECT_EQ(Floats(io.input(0)), (std::vector<float>{1, 1, 1, 1, 0, 0, 0, 0}));
  EXPECT_NEAR(Floats(io.input(1))[0], std::cos(1.0f), 1e-3);  // position 1, frequency 1
  EXPECT_NEAR(Floats(io.input(1))[3], std::cos(1.0f), 1e-3);  // position 2, frequency 0.5
  EXPECT_EQ(io.input(3)[0], std::byte{128});                  // an empty cache holds zeros
}

TEST(StageIo, WindowHidesOldPositions) {
  Contract contract = Sample();
  contract.masks[0].window = 2;
  StageIo io(contract, contract.graphs[0]);
  const std::vector<float> hidden(8, 1.0f);
  MUST(io.Fill({.rows = 2, .past_len = 3, .hidden = hidden}));
  constexpr float kHidden = -1000;
  EXPECT_EQ(Floats(io.input(2)), (std::vector<float>{kHidden, kHidden, 0, 0, kHidden,  //
                                                     kHidden, kHidden, kHidden, 0, 0}));
}

TEST(StageIo, RefusesAHiddenStateOfTheWrongSize) {
  const Contract contract = Sample();
  StageIo io(contract, contract.graphs[0]);
  const std::vector<float> hidden(5);
  EXPECT_EQ(io.Fill({.rows = 1, .past_len = 0, .hidden = hidden}).error().code,
            Code::kInvalidInput);
}

}  // namespace
}  // namespace hexlane::qnn
