#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

#include "backends/conformance/conformance.h"
#include "backends/cpu/exec/tiny_model.h"
#include "backends/executors.h"
#include "base/thread_pool.h"

namespace hexlane {
namespace {

using testing::TinyModel;
const std::vector<int32_t> kIds = {3, 1, 4, 1};

class CpuExecutorTest : public ::testing::Test {
 protected:
  Result<void> Load(const TinyModel& model, const Json& tape) {
    package_ = TRY(model.Write(dir_.path() / "p", tape));
    variant_ = &package_->plan().variants[0];
    executor_ = TRY(LoadCpuExecutor({.package = package_,
                                     .variant = variant_,
                                     .part = &variant_->parts[0],
                                     .pool = &pool_,
                                     .vendor_library = ""}));
    state_ = TRY(executor_->NewState());
    return {};
  }

  std::vector<float> Run(std::span<const int32_t> ids, int64_t past, bool all,
                         const ValueObserver* observer = nullptr) {
    std::vector<float> logits((all ? ids.size() : 1) * TinyModel::kVocab);
    RunArgs args;
    args.stage = ids.size() == 1 ? StageShape{1, 16} : StageShape{4, 16};
    args.rows = static_cast<int>(ids.size());
    args.past_len = past;
    args.ids = ids;
    args.output = logits;
    args.all_logits = all;
    args.observer = observer;
    const Result<void> result = executor_->Run(*state_, args);
    EXPECT_TRUE(result) << result.error().ToString();
    return logits;
  }

  std::vector<std::string> Complaints() {
    // Rows are computed alike in every stage up to the grouping of sums in attention.
    return Conformance({executor_.get(), package_.get(), variant_, &variant_->parts[0], 1e-5f});
  }

  testing::TempDir dir_;
  ThreadPool pool_{2};
  std::shared_ptr<const Package> package_;
  const Variant* variant_ = nullptr;
  std::unique_ptr<Executor> executor_;
  std::unique_ptr<ExecutorState> state_;
};

class CpuExecutorSchemes : public CpuExecutorTest, public ::testing::WithParamInterface<Scheme> {};

TEST_P(CpuExecutorSchemes, Conforms) {
  const TinyModel model(GetParam());
  const Result<void> loaded = Load(model, ToJson(model.MakeTape()));
  ASSERT_TRUE(loaded) << loaded.error().ToString();
  EXPECT_THAT(Complaints(), ::testing::IsEmpty());
}

TEST_P(CpuExecutorSchemes, LogitsMatchThePlainKernels) {
  const TinyModel model(GetParam());
  ASSERT_TRUE(Load(model, ToJson(model.MakeTape())));
  const std::vector<float> want = model.Logits(kIds), got = Run(kIds, 0, true);
  const float most = std::abs(*std::max_element(
      want.begin(), want.end(), [](float a, float b) { return std::abs(a) < std::abs(b); }));
  // float16 keys and values; with quantised weights also activations of 127 steps, through seven
  // products.
  const float tolerance = GetParam() == Scheme::kPlain ? 1e-3f : 7.f / 127;
  for (size_t i = 0; i < want.size(); ++i) ASSERT_NEAR(got[i], want[i], tolerance * most) << i;
}

INSTANTIATE_TEST_SUITE_P(Schemes, CpuExecutorSchemes,
                         ::testing::Values(Scheme::kPlain, Scheme::kW8Channel,
                                           Scheme::kW4Affine32));

TEST_F(CpuExecutorTest, ObserverSeesEveryRowOfEveryNamedValue) {
  const TinyModel model(Scheme::kPlain);
  ASSERT_TRUE(Load(model, ToJson(model.MakeTape())));
  std::map<std::string, std::vector<float>> seen;
  const ValueObserver observer = [&](std::string_view name, std::span<const float> values) {
    seen[std::string(name)].assign(values.begin(), values.end());
  };
  const std::vector<float> logits = Run(kIds, 0, false, &observer);
  EXPECT_EQ(logits, Run(kIds, 0, false));
  for (const TapeStep& step : model.MakeTape().steps) ASSERT_TRUE(seen.contains(step.name));
  EXPECT_EQ(seen["q"].size(), 4u * 16);
  EXPECT_EQ(seen["attn_out"].size(), 4u * 8);
  EXPECT_EQ(seen["logits"], logits);
}

TEST_F(CpuExecutorTest, HiddenStatesGoInAndOut) {
  const TinyModel model(Scheme::kPlain);
  Tape tape = model.MakeTape();
  tape.steps.erase(tape.steps.begin());
  tape.steps.resize(tape.steps.size() - 2);
  tape.input = tape.output = 0;
  auto writer = PackageWriter::Create(dir_.path() / "p");
  for (const auto& [name, tensor] : model.weights)
    ASSERT_TRUE(writer->AddWeight(name, tensor.view()));
  ASSERT_TRUE(writer->SealWeights());
  ASSERT_TRUE(writer->AddText("cpu/tape.json", ToJson(tape).dump()));
  ASSERT_TRUE(writer->AddText("null/a", ""));
  Manifest manifest = testing::TinyManifest();
  manifest.plan.variants[0].parts = {{"null", 0, 1, "ids", "h0", {"null/a"}, ""},
                                     {"cpu", 1, 1, "h0", "h1", {"cpu/tape.json"}, ""},
                                     {"null", 2, 1, "h1", "logits", {"null/a"}, ""}};
  ASSERT_TRUE(writer->Finish(manifest));
  package_ = *Package::Open(dir_.path() / "p", {});
  variant_ = &package_->plan().variants[0];
  auto executor = LoadCpuExecutor({package_, variant_, &variant_->parts[1], &pool_, ""});
  ASSERT_TRUE(executor) << executor.error().ToString();
  EXPECT_THAT(Conformance({executor->get(), package_.get(), variant_, &variant_->parts[1], 1e-5f}),
              ::testing::IsEmpty());
}

TEST_F(CpuExecutorTest, RoundsKeysAndValuesOfAnEightBitCache) {
  const TinyModel model(Scheme::kPlain);
  ASSERT_TRUE(Load(model, ToJson(model.MakeTape())));
  const std::vector<float> fine = Run(kIds, 0, false);
  Tape tape = model.MakeTape();
  tape.steps[7].k_encoding = tape.steps[7].v_encoding = Encoding{DType::kU8, 0.5f, -128};
  ASSERT_TRUE(Load(model, ToJson(tape)));
  EXPECT_NE(Run(kIds, 0, false), fine);
}

// A tape that is well-formed but does not fit its weights, its buffers or the model.
TEST_F(CpuExecutorTest, RefusesTapesThatDoNotFit) {
  const TinyModel model(Scheme::kPlain);
  const std::pair<const char*, Json> patches[] = {{"/buffers/0", 9},
                                                  {"/buffers/8", 33},
                                                  {"/steps/0/weights/0", "norm"},
                                                  {"/steps/0/out", 2},
                                                  {"/steps/1/weights/0", "q"},
                                                  {"/steps/1/eps", -1},
                                                  {"/steps/2/out", 3},
                                                  {"/steps/2/out", 1},
                                                  {"/steps/2/weights/0", "freq"},
                                                  {"/steps/2/weights/0", "none"},
                                                  {"/steps/5/head_dim", 0},
                                                  {"/steps/5/head_dim", 3},
                                                  {"/steps/5/head_dim", 4},
                                                  {"/steps/7/heads", 3},
                                                  {"/steps/7/kv_heads", 0},
                                                  {"/steps/7/head_dim", -8},
                                                  {"/steps/7/out", 2},
                                                  {"/steps/7/window", -1},
                                                  {"/steps/12/in/0", 0},
                                                  {"/output", 0},
                                                  {"/input", 0}};
  for (const auto& [pointer, value] : patches) {
    Json json = ToJson(model.MakeTape());
    json[Json::json_pointer(pointer)] = value;
    const Result<void> result = Load(model, json);
    ASSERT_FALSE(result) << pointer << " = " << value;
    EXPECT_THAT(result.error().code, ::testing::AnyOf(Code::kCorrupt, Code::kNotFound)) << pointer;
  }
}

TEST_F(CpuExecutorTest, RefusesATableSmallerThanTheVocabulary) {
  TinyModel model(Scheme::kPlain);
  model.weights["embed"] = Tensor::FromFloats(std::vector<float>(31 * 8), {31, 8});
  EXPECT_EQ(Load(model, ToJson(model.MakeTape())).error().code, Code::kCorrupt);
}

}  // namespace
}  // namespace hexlane
