#include "compiler/parts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "base/thread_pool.h"
#include "compiler/ahead.h"
#include "package/testing.h"

namespace hexlane {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

// Parts of the null backend, which writes how many units it got.
class Parts : public ::testing::Test {
 protected:
  PartTask Task(const std::string& stem, int units, const std::string& backend = "null") const {
    PartTask task{.backend = backend, .args = {}, .memory_bytes = 1};
    task.args.unit_count = units;
    task.args.stem = stem;
    task.args.directory = dir_.path();
    return task;
  }
  std::string Text(const std::string& file) const {
    return ReadTextFile(dir_.path() / file).value_or("");
  }
  void Write(const std::string& file, const std::string& text) const {
    ASSERT_TRUE(WriteFileAtomically(dir_.path() / file, text));
  }

  testing::TempDir dir_;
  Journal journal_{dir_.path()};
};

TEST_F(Parts, AreAllEmittedAndInOrder) {
  double last = 0;
  const auto results = EmitParts({Task("a", 1), Task("b", 2), Task("c", 3)},
                                 {.memory = 2, .progress = [&](double fraction, auto) {
                                    EXPECT_GE(fraction, last);
                                    last = fraction;
                                  }});
  ASSERT_TRUE(results);
  ASSERT_EQ(results->size(), 3u);
  EXPECT_EQ((*results)[2].files, std::vector<std::string>{"c.null"});
  EXPECT_EQ(Text("b.null"), "2 units\n");
}

TEST_F(Parts, TheFirstErrorEndsTheRest) {
  const auto results = EmitParts({Task("a", 1, "no such backend"), Task("b", 2)}, {.memory = 1});
  ASSERT_FALSE(results);
  EXPECT_THAT(results.error().ToString(), HasSubstr("no such backend"));
  EXPECT_EQ(Text("b.null"), "");
}

TEST_F(Parts, FinishedOnesAreTakenUp) {
  ASSERT_TRUE(EmitPart(Task("htp/a", 1), &journal_));
  ASSERT_TRUE(fs::exists(dir_.path() / PartRecord("htp/a")));
  // The journal's word counts, not the arguments: other arguments have another package.
  ASSERT_TRUE(EmitPart(Task("htp/a", 7), &journal_));
  EXPECT_EQ(Text("htp/a.null"), "1 units\n");
  Write("htp/a.null", "damaged");
  ASSERT_TRUE(EmitPart(Task("htp/a", 7), &journal_));
  EXPECT_EQ(Text("htp/a.null"), "7 units\n");
}

class Ahead : public Parts {
 protected:
  VariantArgs Variant(const std::string& backend = "null") const {
    VariantArgs args;
    args.name = "SM8650";
    args.backend = backend;
    args.target = *FindTarget("SM8650");
    args.directory = dir_.path();
    args.folder = "htp";
    args.journal = &journal_;
    args.partition.runs = {{"cpu", 0, 1, {}}, {backend, 1, 2, {}}, {backend, 3, 2, {}}};
    return args;
  }
  bool Recorded(const std::string& stem) const {
    return fs::exists(dir_.path() / PartRecord(stem));
  }
  void WaitFor(const std::string& stem) const {
    for (int i = 0; i < 500 && !Recorded(stem); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    EXPECT_TRUE(Recorded(stem));
  }
};

TEST_F(Ahead, CompilesWhatIsFinishedAndNoMore) {
  if (DefaultThreads() < 2) GTEST_SKIP() << "one processor";
  AheadCompiler ahead({Variant()}, 0);
  ahead.Offer({2, {}, {}});
  ahead.Offer({4, {}, {}});
  WaitFor("htp/SM8650.1-2");
  ahead.Stop();
  EXPECT_FALSE(Recorded("htp/SM8650.3-4"));
  EXPECT_FALSE(Recorded("htp/SM8650.0-0")) << "the CPU's";
}

TEST_F(Ahead, LeavesFailuresToOthers) {
  AheadCompiler ahead({Variant("no such backend")}, 0);
  ahead.Offer({5, {}, {}});
  ahead.Stop();
  EXPECT_FALSE(Recorded("htp/SM8650.1-2"));
}

}  // namespace
}  // namespace hexlane
