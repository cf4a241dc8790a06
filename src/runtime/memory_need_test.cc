#include "runtime/memory_need.h"

#include <gmock/gmock.h>

#include "runtime/testing.h"

namespace hexlane {
namespace {
using ::testing::HasSubstr;

constexpr size_t kShards[] = {3000, 5000};
constexpr size_t kTableBytes = 32 * 8 * sizeof(float);
constexpr size_t kHeadBytes = 64 * sizeof(float);

// Three layers. "cpu" reads two weights; "SM8650" has the embedding on the CPU and two shards, of
// one layer and of two.
Manifest ThreeLayers() {
  Manifest manifest = testing::TinyManifest();
  manifest.kv_bits = 8;
  manifest.plan.model.layers = 3;
  Variant cpu{.name = "cpu", .stages = {{1, 16}, {4, 16}}};
  cpu.parts = {{"cpu", 0, 5, "ids", "logits", {"cpu/all.json"}, ""}};
  Variant npu{.name = "SM8650", .soc = "SM8650", .stages = {{1, 16}, {1, 32}}};
  npu.parts = {{"cpu", 0, 1, "ids", "a", {"htp/embed.json"}, ""},
               {"qnn", 1, 1, "a", "b", {"htp/1.bin"}, "", 700},
               {"qnn", 2, 3, "b", "logits", {"htp/2.bin"}, "", 40}};
  manifest.plan.variants = {cpu, npu};
  return manifest;
}

Json TapeOf(const std::vector<std::string>& weights) {
  Json steps = Json::array();
  for (const std::string& name : weights) steps.push_back({{"weights", {name}}});
  return {{"version", 1}, {"steps", steps}};
}

class MemoryNeedTest : public ::testing::Test {
 protected:
  Result<void> Write(const Manifest& manifest) {
    PackageWriter writer = TRY(PackageWriter::Create(path_));
    const auto add = [&](const char* name, Shape shape) {
      const std::vector<float> zeros(static_cast<size_t>(shape.elements()));
      return writer.AddWeight(name, Tensor::FromFloats(zeros, shape).view());
    };
    TRY(add("table", {32, 8}));
    TRY(add("head", {64}));
    TRY(add("unused", {1000}));
    TRY(writer.SealWeights());
    TRY(writer.AddText("cpu/all.json", TapeOf({"table", "head", "table"}).dump()));
    TRY(writer.AddText("htp/embed.json", TapeOf({"table"}).dump()));
    TRY(writer.AddText("htp/1.bin", std::string(kShards[0], '1')));
    TRY(writer.AddText("htp/2.bin", std::string(kShards[1], '2')));
    return writer.Finish(manifest);
  }
  Result<void> Check(const EngineOptions& options, std::string_view variant) {
    const auto package = TRY(Package::Open(path_, {}));
    return CheckMemory(*package, *package->plan().Find(variant), options);
  }
  void SetUp() override {
    const auto written = Write(ThreeLayers());
    ASSERT_TRUE(written) << written.error().ToString();
  }
  testing::TempDir dir_;
  const std::filesystem::path path_ = dir_.path() / "p";
};

TEST_F(MemoryNeedTest, IsOneLineForEachVariantAndContext) {
  const auto needs = MemoryNeeds(path_);
  ASSERT_TRUE(needs) << needs.error().ToString();
  ASSERT_EQ(needs->size(), 3u);
  EXPECT_EQ((*needs)[0].variant, "cpu");
  EXPECT_EQ((*needs)[1].context, 16);
  EXPECT_EQ((*needs)[2].context, 32);
  EXPECT_EQ((*needs)[2].kv_cache, 2 * (*needs)[1].kv_cache);
  EXPECT_EQ((*needs)[2].binaries, (*needs)[1].binaries);
}

TEST_F(MemoryNeedTest, CountsWhatAnNpuVariantLoads) {
  const MemoryNeed need = (*MemoryNeeds(path_))[2];
  EXPECT_EQ(need.soc, "SM8650");
  EXPECT_EQ(need.binaries, kShards[0] + kShards[1]);
  EXPECT_EQ(need.largest_shard, kShards[1]);
  // Keys and values of 3 layers, 1 head of 8, 32 positions, one byte each.
  EXPECT_EQ(need.kv_cache, 2u * 3 * 8 * 32);
  EXPECT_EQ(need.spill_fill, 740u);
  EXPECT_EQ(need.mapped_weights, kTableBytes);
  EXPECT_EQ(need.total(), need.resident() + kTableBytes);
}

TEST_F(MemoryNeedTest, CountsTheWeightsThatTheCpuReadsOnce) {
  const MemoryNeed need = (*MemoryNeeds(path_))[0];
  EXPECT_EQ(need.binaries, 0u);
  EXPECT_EQ(need.spill_fill, 0u);
  EXPECT_EQ(need.mapped_weights, kTableBytes + kHeadBytes);
  EXPECT_EQ(need.kv_cache, 2u * 3 * 8 * 16 * 2) << "float16, though the package rounds to 8 bits";
}

TEST_F(MemoryNeedTest, SaysWhereSpillFillIsNotKnown) {
  Manifest manifest = ThreeLayers();
  manifest.plan.variants[1].parts[2].spill_fill_bytes.reset();
  ASSERT_TRUE(Write(manifest));
  const MemoryNeed need = (*MemoryNeeds(path_))[1];
  EXPECT_EQ(need.spill_fill, std::nullopt);
  EXPECT_TRUE(Json::parse(MemoryNeedJson(need))["spill_fill_bytes"].is_null());
}

TEST_F(MemoryNeedTest, ALimitIsKeptToTheByte) {
  const size_t total = (*MemoryNeeds(path_))[2].total();
  EXPECT_TRUE(Check({.memory_limit = total}, "SM8650"));
  const auto refused = Check({.memory_limit = total - 1}, "SM8650");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kEnvironment);
  const std::string message = refused.error().ToString();
  for (const char* part :
       {"'SM8650'", "the limit given", "binaries 7.8 KiB", "largest shard 4.9 KiB",
        "32 positions 1.5 KiB", "spill-fill 0.7 KiB", "mapped weights 1.0 KiB", "--memory"})
    EXPECT_THAT(message, HasSubstr(part));
}

TEST_F(MemoryNeedTest, AShorterContextNeedsLessOnTheCpu) {
  const size_t total = (*MemoryNeeds(path_))[0].total();
  EXPECT_FALSE(Check({.memory_limit = total - 100}, "cpu"));
  EXPECT_TRUE(Check({.context = 8, .memory_limit = total - 100}, "cpu"));
}

TEST_F(MemoryNeedTest, WithoutALimitTheSystemDecidesAndMappedWeightsDoNotCount) {
  EXPECT_GT(AvailableMemory(), size_t{1} << 20);
  EXPECT_TRUE(Check({}, "SM8650"));
  Manifest manifest = ThreeLayers();
  manifest.plan.variants[1].parts[1].spill_fill_bytes = int64_t{1} << 40;
  ASSERT_TRUE(Write(manifest));
  const auto refused = Check({}, "SM8650");
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().ToString(), HasSubstr("available now"));
  EXPECT_THAT(refused.error().ToString(), HasSubstr("(not counted)"));
  EXPECT_TRUE(Check({}, "cpu"));
}

TEST_F(MemoryNeedTest, NumbersOfAHostilePlanDoNotOverflow) {
  Manifest manifest = ThreeLayers();
  manifest.plan.model.kv_heads = manifest.plan.model.head_dim = 1 << 14;
  manifest.plan.variants[1].stages = {{1, 1 << 24}};
  ASSERT_TRUE(Write(manifest));
  EXPECT_GT((*MemoryNeeds(path_))[1].kv_cache, size_t{1} << 50);
  EXPECT_FALSE(Check({}, "SM8650"));
}

// A package whose variant "cpu" runs on the null backend, and an NPU variant that is larger.
Manifest WithLargeNpu() {
  Manifest manifest = testing::TinyManifest();
  auto& variants = manifest.plan.variants;
  variants.push_back(variants[0]);
  variants[0].name = "cpu";
  variants[1].name = variants[1].soc = "SM8650";
  variants[1].parts[0].spill_fill_bytes = 100'000;
  return manifest;
}

TEST(EngineMemory, AVariantThatDoesNotFitIsPassedOverWithTheReason) {
  const testing::TempDir dir;
  ASSERT_TRUE(testing::WriteTinyPackage(dir.path() / "p", WithLargeNpu()));
  const auto engine = Engine::Open(dir.path() / "p", {.memory_limit = 50'000});
  ASSERT_TRUE(engine) << engine.error().ToString();
  EXPECT_EQ((*engine)->info().variant, "cpu");
  EXPECT_THAT((*engine)->info().fallback_reason, HasSubstr("'SM8650' needs more memory"));
  EXPECT_EQ((*Engine::Open(dir.path() / "p", {.memory_limit = 200'000}))->info().variant, "SM8650");
}

TEST(EngineMemory, AVariantThatIsAskedForIsRefusedByName) {
  const testing::TempDir dir;
  ASSERT_TRUE(testing::WriteTinyPackage(dir.path() / "p", WithLargeNpu()));
  const auto named = Engine::Open(dir.path() / "p", {.backend = "SM8650", .memory_limit = 50'000});
  ASSERT_FALSE(named);
  EXPECT_EQ(named.error().code, Code::kEnvironment);
  const auto none = Engine::Open(dir.path() / "p", {.memory_limit = 1});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, Code::kEnvironment);
  EXPECT_THAT(none.error().got, HasSubstr("'cpu' needs more memory"));
}

}  // namespace
}  // namespace hexlane
