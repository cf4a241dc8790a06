#include "base/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <numeric>
#include <thread>
#include <vector>

namespace hexlane {
namespace {

// How often each of `count` items was visited.
std::vector<int> Visits(ThreadPool& pool, int64_t count, int64_t grain) {
  std::vector<std::atomic<int>> visits(count);
  pool.ParallelFor(count, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) visits[i].fetch_add(1, std::memory_order_relaxed);
  });
  return {visits.begin(), visits.end()};
}

TEST(ThreadPool, VisitsEveryItemOnce) {
  for (const int threads : {1, 2, 3, 8}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.threads(), threads);
    for (const int64_t count : {1, 2, 7, 64, 1000})
      for (const int64_t grain : {1, 3, 64, 2000})
        EXPECT_EQ(Visits(pool, count, grain), std::vector<int>(count, 1)) << count << "/" << grain;
  }
}

TEST(ThreadPool, DoesNothingForNoItems) {
  ThreadPool pool(2);
  const auto never = [](int64_t, int64_t) { FAIL(); };
  pool.ParallelFor(0, 1, never);
  pool.ParallelFor(-5, 1, never);
}

TEST(ThreadPool, TreatsAGrainBelowOneAsOne) {
  ThreadPool pool(2);
  EXPECT_EQ(Visits(pool, 5, 0), std::vector<int>(5, 1));
  EXPECT_EQ(Visits(pool, 5, -7), std::vector<int>(5, 1));
}

// What one loop writes, the caller and the next loop read without locks: the loops must order
// memory.
TEST(ThreadPool, ManyShortLoopsSeeEachOthersWrites) {
  ThreadPool pool(4);
  std::vector<int64_t> values(16, 0);
  constexpr int kLoops = 5000;
  for (int loop = 0; loop < kLoops; ++loop) {
    pool.ParallelFor(16, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) values[i] += 1;
    });
    ASSERT_EQ(std::accumulate(values.begin(), values.end(), int64_t{0}), 16 * (loop + 1));
  }
}

TEST(ThreadPool, WakesWorkersThatWentToSleep) {
  ThreadPool pool(3);
  for (int i = 0; i < 5; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));  // longer than the spin
    EXPECT_EQ(Visits(pool, 9, 1), std::vector<int>(9, 1));
  }
}

TEST(ThreadPool, StartsAndStopsWithoutALoop) {
  for (int i = 0; i < 50; ++i) ThreadPool pool(4);
}

TEST(ThreadPool, SeveralPoolsWorkAtOnce) {
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 3; ++caller) {
    callers.emplace_back([] {
      ThreadPool pool(2);
      for (int i = 0; i < 200; ++i) EXPECT_EQ(Visits(pool, 10, 2), std::vector<int>(10, 1));
    });
  }
  for (std::thread& caller : callers) caller.join();
}

TEST(DefaultThreads, IsAtLeastOne) { EXPECT_GE(DefaultThreads(), 1); }

}  // namespace
}  // namespace hexlane
