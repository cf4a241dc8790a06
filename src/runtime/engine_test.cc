#include "hexlane/engine.h"

#include <gmock/gmock.h>

#include <thread>

#include "runtime/testing.h"

namespace hexlane {
namespace {
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class EngineTest : public ::testing::Test {
 protected:
  Result<std::shared_ptr<Engine>> Open(const EngineOptions& options = {.backend = "null"},
                                       const Manifest& manifest = testing::TinyManifest()) {
    TRY(testing::WriteTinyPackage(dir_.path() / "p", manifest));
    return Engine::Open(dir_.path() / "p", options);
  }
  // A package whose variant "cpu" runs on the null backend, and an NPU variant that cannot load.
  static Manifest WithNpu() {
    Manifest manifest = testing::TinyManifest();
    auto& variants = manifest.plan.variants;
    variants.push_back(variants[0]);
    variants[0].name = "cpu";
    variants[1].name = variants[1].soc = "SM8650";
    variants[1].parts[0].backend = "absent";
    return manifest;
  }
  testing::TempDir dir_;
};

TEST_F(EngineTest, DescribesThePackage) {
  const auto engine = Open();
  ASSERT_TRUE(engine) << engine.error().ToString();
  const EngineInfo& info = (*engine)->info();
  EXPECT_EQ(info.architecture, "llama");
  EXPECT_EQ(info.layers, 1);
  EXPECT_EQ(info.vocab, 32);
  EXPECT_EQ(info.context, 16);
  EXPECT_EQ(info.variant, "null");
  EXPECT_THAT(info.backends, ElementsAre("null"));
  EXPECT_THAT(info.eos_ids, ElementsAre(2));
  EXPECT_GT(info.load.total, 0);
  EXPECT_GE(info.load.total, info.load.files + info.load.tokenizer);
}

TEST_F(EngineTest, FallsBackToTheCpuAndSaysWhy) {
  const auto engine = Open({}, WithNpu());
  ASSERT_TRUE(engine) << engine.error().ToString();
  EXPECT_EQ((*engine)->info().variant, "cpu");
  EXPECT_THAT((*engine)->info().fallback_reason,
              HasSubstr("SM8650: this program has no backend 'absent'"));
}

TEST_F(EngineTest, DoesNotFallBackWhenTheNpuIsAskedFor) {
  const auto engine = Open({.backend = "htp"}, WithNpu());
  ASSERT_FALSE(engine);
  EXPECT_EQ(engine.error().code, Code::kUnsupported);
  EXPECT_THAT(engine.error().what, HasSubstr("absent"));
}

TEST_F(EngineTest, ListsTheVariantsWhenNoneFits) {
  const auto engine = Open({.backend = "gpu"}, WithNpu());
  ASSERT_FALSE(engine);
  EXPECT_EQ(engine.error().want, "one of: cpu, SM8650");
}

TEST_F(EngineTest, RefusesOptionsThatDoNotFit) {
  EXPECT_EQ(Open({.backend = "null", .context = 17}).error().code, Code::kUnsupported);
  EXPECT_EQ(Open({.backend = "null", .context = -1}).error().code, Code::kUnsupported);
  EXPECT_EQ(Open({.backend = "null", .threads = -1}).error().code, Code::kUsage);
  EXPECT_EQ(Engine::Open(dir_.path() / "absent").error().code, Code::kNotFound);
}

TEST_F(EngineTest, EncodesAndDecodes) {
  const auto engine = *Open();
  EXPECT_THAT(*engine->Encode("xab</s>"), ElementsAre(26, 29, 2));
  EXPECT_EQ(*engine->Decode(std::vector<int32_t>{26, 29, 2}), "xab");
  EXPECT_EQ(*engine->Decode(std::vector<int32_t>{26, 29, 2}, false), "xab</s>");
}

TEST_F(EngineTest, RendersAConversation) {
  const auto engine = *Open();
  constexpr std::string_view kMessages = R"([{"role": "x", "content": "yz"}])";
  EXPECT_EQ(*engine->RenderChat(kMessages), "xyza");
  EXPECT_EQ(*engine->RenderChat(kMessages, {.add_generation_prompt = false}), "xyz");
  EXPECT_EQ(engine->RenderChat("[{").error().code, Code::kCorrupt);
  EXPECT_EQ(engine->RenderChat("").error().code, Code::kInvalidInput);
  EXPECT_EQ(engine->RenderChat(kMessages, {.variables_json = "[]"}).error().code,
            Code::kInvalidInput);
}

TEST_F(EngineTest, WorksOnTokensWithoutATokenizer) {
  auto writer = PackageWriter::Create(dir_.path() / "p");
  ASSERT_TRUE(writer->AddText("null/model.null", ""));
  ASSERT_TRUE(writer->Finish(testing::TinyManifest()));
  const auto engine = *Engine::Open(dir_.path() / "p", {.backend = "null"});
  EXPECT_EQ(engine->Encode("a").error().code, Code::kNotFound);
  EXPECT_EQ(engine->RenderChat("[]").error().code, Code::kNotFound);
  const auto session = *engine->NewSession();
  EXPECT_EQ(session->Generate("a", {}).error().code, Code::kNotFound);
  const auto result = session->Generate(std::vector<int32_t>{4}, {.max_tokens = 2});
  ASSERT_TRUE(result);
  EXPECT_THAT(result->tokens, ElementsAre(5, 6));
}

TEST_F(EngineTest, ServesSessionsOnSeveralThreads) {
  const auto engine = *Open({.backend = "null", .threads = 2});
  std::vector<std::vector<int32_t>> tokens(4);
  std::vector<std::thread> threads;
  for (int32_t i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      const auto session = *engine->NewSession();
      for (int round = 0; round < 20; ++round) {
        session->Reset();
        tokens[static_cast<size_t>(i)] =
            session->Generate(std::vector<int32_t>{i + 3}, {.max_tokens = 8})->tokens;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int32_t i = 0; i < 4; ++i) EXPECT_EQ(tokens[static_cast<size_t>(i)].back(), i + 11);
}

}  // namespace
}  // namespace hexlane
