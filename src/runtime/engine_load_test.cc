#include "hexlane/engine_load.h"

#include <gmock/gmock.h>

#include <fstream>
#include <future>
#include <thread>

#include "runtime/testing.h"

namespace hexlane {
namespace {
using ::testing::ElementsAre;

class EngineLoadTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(testing::WriteTinyPackage(package(), testing::TinyManifest()));
    options_.backend = "null";
  }
  std::filesystem::path package() const { return dir_.path() / "p"; }
  testing::TempDir dir_;
  EngineOptions options_;
};

TEST_F(EngineLoadTest, GivesTheEngineAndTellsItsPhasesOnAThreadOfItsOwn) {
  std::vector<LoadPhase> phases;
  std::thread::id thread;
  options_.on_progress = [&](const LoadProgress& progress) {
    if (phases.empty() || phases.back() != progress.phase) phases.push_back(progress.phase);
    EXPECT_LE(progress.done, progress.total);
    thread = std::this_thread::get_id();
    return true;
  };
  auto load = EngineLoad::Start(package(), options_);
  ASSERT_TRUE(load) << load.error().ToString();
  const auto engine = (*load)->Wait();
  ASSERT_TRUE(engine) << engine.error().ToString();
  EXPECT_TRUE((*load)->done());
  EXPECT_EQ((*engine)->info().variant, "null");
  EXPECT_THAT(phases, ElementsAre(LoadPhase::kFiles, LoadPhase::kText, LoadPhase::kParts,
                                  LoadPhase::kReady));
  EXPECT_NE(thread, std::this_thread::get_id());
  EXPECT_EQ(*(*load)->Wait(), *engine);  // asked again
}

TEST_F(EngineLoadTest, WhatTheManifestTellsIsRefusedAtOnce) {
  EXPECT_EQ(EngineLoad::Start(dir_.path() / "absent", options_).error().code, Code::kNotFound);
  options_.backend = "htp";
  EXPECT_EQ(EngineLoad::Start(package(), options_).error().code, Code::kUnsupported);
}

TEST_F(EngineLoadTest, DamageFoundLaterComesOutOfWait) {
  std::ofstream(package() / "null/model.null") << "nothinG\n";
  auto load = EngineLoad::Start(package(), options_);
  ASSERT_TRUE(load);
  EXPECT_EQ((*load)->Wait().error().code, Code::kCorrupt);
}

TEST_F(EngineLoadTest, CancellingEndsItAtTheNextFile) {
  std::promise<void> started, go_on;
  options_.on_progress = [&, first = true](const LoadProgress&) mutable {
    if (std::exchange(first, false)) {
      started.set_value();
      go_on.get_future().wait();
    }
    return true;
  };
  auto load = EngineLoad::Start(package(), options_);
  ASSERT_TRUE(load);
  started.get_future().wait();
  EXPECT_FALSE((*load)->done());
  (*load)->Cancel();
  go_on.set_value();
  EXPECT_EQ((*load)->Wait().error().code, Code::kCancelled);
}

TEST_F(EngineLoadTest, TheListenerCancelsInEachPhase) {
  for (const LoadPhase phase :
       {LoadPhase::kFiles, LoadPhase::kText, LoadPhase::kParts, LoadPhase::kReady}) {
    options_.on_progress = [&](const LoadProgress& progress) { return progress.phase != phase; };
    const auto engine = Engine::Open(package(), options_);
    ASSERT_FALSE(engine);
    EXPECT_EQ(engine.error().code, Code::kCancelled) << LoadPhaseName(phase);
  }
}

TEST_F(EngineLoadTest, DroppingItCancels) {
  {
    auto load = EngineLoad::Start(package(), options_);
  }
  SUCCEED();  // returned, and nothing leaks or races (sanitizers)
}

TEST_F(EngineLoadTest, FilesAreCheckedOnceWithACacheUntilTheyChange) {
  options_.cache_dir = dir_.path() / "cache";
  ASSERT_TRUE(Engine::Open(package(), options_));
  EXPECT_TRUE(std::filesystem::exists(dir_.path() / "cache/checked_files.json"));
  ASSERT_TRUE(Engine::Open(package(), options_));
  std::ofstream(package() / "null/model.null") << "nothinG\n";
  EXPECT_EQ(Engine::Open(package(), options_).error().code, Code::kCorrupt);
}

TEST_F(EngineLoadTest, WarmingUpAndTrimmingLeaveSessionsAsTheyWere) {
  const auto engine = *Engine::Open(package(), options_);
  const auto session = *engine->NewSession();
  const GenerateOptions options{.max_tokens = 3, .ignore_eos = true};
  ASSERT_THAT(session->Generate(std::vector<int32_t>{3, 4}, options)->tokens, ElementsAre(5, 6, 7));
  ASSERT_TRUE(engine->WarmUp());
  engine->Trim(TrimLevel::kPages);
  engine->Trim(TrimLevel::kAll);
  EXPECT_EQ(session->position(), 4);
  EXPECT_THAT(session->Generate(std::vector<int32_t>{7}, options)->tokens, ElementsAre(8, 9, 10));
}

}  // namespace
}  // namespace hexlane
