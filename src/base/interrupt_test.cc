#include "hexlane/interrupt.h"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>

namespace hexlane {
namespace {

// The flag cannot be taken back, so each case runs in a process of its own that exits with its
// verdict.
[[noreturn]] void ExitWith(bool good) { std::_Exit(good ? 0 : 1); }

TEST(InterruptDeathTest, IsNotSetByItself) {
  EXPECT_EXIT(ExitWith(!Interrupted() && CheckInterrupt()), testing::ExitedWithCode(0), "");
}

TEST(InterruptDeathTest, ASignalBecomesACancelledError) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    EXPECT_EXIT(
        {
          CatchInterrupts();
          std::raise(signal);
          const Result<void> result = CheckInterrupt();
          ExitWith(Interrupted() && !result && result.error().code == Code::kCancelled);
        },
        testing::ExitedWithCode(0), "");
  }
}

TEST(InterruptDeathTest, AnIgnoredHangUpStaysIgnored) {  // nohup
  EXPECT_EXIT(
      {
        std::signal(SIGHUP, SIG_IGN);
        CatchInterrupts();
        std::raise(SIGHUP);
        ExitWith(!Interrupted());
      },
      testing::ExitedWithCode(0), "");
}

TEST(InterruptDeathTest, ASecondSignalEndsTheProcess) {
  EXPECT_EXIT(
      {
        CatchInterrupts();
        std::raise(SIGINT);
        std::raise(SIGINT);
        ExitWith(true);
      },
      testing::KilledBySignal(SIGINT), "");
}

}  // namespace
}  // namespace hexlane
