#include "backends/qnn/driver/binary_info.h"
#include "backends/qnn/driver/testing.h"

namespace hexlane::qnn {
namespace {

constexpr int kK = 128;

// y = sigmoid(x) x, and a Conv2d with weights of `seed`, on `rows` rows.
CompiledGraph AddGraph(const std::shared_ptr<const Context>& context, const std::string& name,
                       int rows, uint32_t seed) {
  GraphBuilder builder = MUST(GraphBuilder::Create(context, name));
  const Ref x = MUST(builder.Input("x", Fixed(16, {1, 1, rows, kK}, 1)));
  PerChannel quant{3, std::vector<ScaleOffset>(kK, {0.01f, 0})};
  const TensorSpec weight = {DataType::kSFixed8, {1, 1, kK, kK}, quant};
  std::vector<int8_t> codes(kK * kK);
  const std::vector<float> random = Random(codes.size(), 127, seed);
  for (size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<int8_t>(random[i]);
  const Ref w = MUST(builder.Constant("w", weight, codes));
  const Ref y = MUST(builder.Output("y", Fixed(16, {1, 1, rows, kK}, 20)));
  MUST(builder.Add({.type = "Conv2d",
                    .name = "conv",
                    .inputs = {x, w},
                    .params = {{"stride", IntArray{DataType::kU32, {2}, {1, 1}}},
                               {"pad_amount", IntArray{DataType::kU32, {2, 2}, {0, 0, 0, 0}}}},
                    .into = y}));
  return MUST(std::move(builder).Finalize());
}

TEST(Context, ReloadedBinaryGivesTheSameBits) {
  auto device = TestDevice();
  auto context = MUST(Context::Create(device));
  CompiledGraph graph = AddGraph(context, "decode", 4, 1);
  const std::vector<float> x = Random(4 * kK, 1, 2);
  const auto before = ExecuteOn(graph, {{"x", x}});
  const std::vector<std::byte> binary = MUST(context->Serialize());

  auto system = MUST(SystemLibrary::Open(SystemLibraryBeside(TestLibraryPath())));
  const BinaryInfo info = MUST(ReadBinaryInfo(*system, binary, "test"));
  EXPECT_EQ(info.soc, 57u);
  EXPECT_EQ(info.htp_arch, 75u);
  ASSERT_EQ(info.graphs.size(), 1u);
  EXPECT_EQ(info.graphs[0].name, "decode");
  EXPECT_EQ(info.graphs[0].inputs[0].spec.shape, (Shape{1, 1, 4, kK}));
  EXPECT_EQ(info.graphs[0].optimization_level, 2u);

  auto loaded = MUST(Context::Load(device, binary));
  CompiledGraph again = MUST(CompiledGraph::Retrieve(
      loaded, info.graphs[0].name, info.graphs[0].inputs, info.graphs[0].outputs));
  EXPECT_EQ(ExecuteOn(again, {{"x", x}}), before);
}

TEST(Context, SharedWeightsAreStoredOnce) {
  auto device = TestDevice();
  auto alone = MUST(Context::Create(device));
  AddGraph(alone, "decode", 1, 1);
  auto shared = MUST(Context::Create(device, {.share_weights = true}));
  AddGraph(shared, "prefill", 32, 1);
  AddGraph(shared, "decode", 1, 1);
  EXPECT_LT(MUST(shared->Serialize()).size(), 2 * MUST(alone->Serialize()).size());
}

TEST(Context, DamagedBinaryIsAnError) {
  auto device = TestDevice();
  auto context = MUST(Context::Create(device));
  AddGraph(context, "decode", 4, 1);
  std::vector<std::byte> binary = MUST(context->Serialize());
  binary.resize(binary.size() / 2);
  const auto cut = Context::Load(device, binary);
  ASSERT_FALSE(cut.has_value());
  EXPECT_EQ(cut.error().code, Code::kVendor);
  const auto garbage = Context::Load(device, std::vector<std::byte>(4096, std::byte{7}));
  ASSERT_FALSE(garbage.has_value());
  auto system = MUST(SystemLibrary::Open(SystemLibraryBeside(TestLibraryPath())));
  const auto info = ReadBinaryInfo(*system, std::vector<std::byte>(4096, std::byte{7}), "file.bin");
  ASSERT_FALSE(info.has_value());
  EXPECT_EQ(info.error().code, Code::kCorrupt);
  EXPECT_EQ(info.error().where, "file.bin");
}

TEST(CompiledGraph, RefusesBuffersOfTheWrongSize) {
  auto context = MUST(Context::Create(TestDevice()));
  CompiledGraph graph = AddGraph(context, "decode", 4, 1);
  std::vector<std::byte> small(4 * kK), right(4 * kK * 2);
  const std::span<const std::byte> inputs[] = {small};
  const std::span<std::byte> outputs[] = {right};
  const auto refused = graph.Execute(inputs, outputs);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Code::kInvalidInput);
  EXPECT_NE(refused.error().where.find("tensor x"), std::string::npos);
}

}  // namespace
}  // namespace hexlane::qnn
