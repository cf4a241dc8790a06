#include "base/thread_pool.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "base/check.h"

namespace hexlane {
namespace {
// Decode issues a loop every few tens of microseconds: a short spin before sleeping keeps workers
// awake between the loops of one token, without burning a core between tokens.
constexpr int kSpins = 4000;

inline void Relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}
}  // namespace

struct ThreadPool::State {
  std::vector<std::thread> workers;
  std::mutex mutex;
  std::condition_variable wake;
  std::atomic<uint64_t> generation{0};  // one more for every loop; workers wait for it to change
  std::atomic<bool> stop{false};
  std::atomic<int> running{0};  // workers that have not finished the current loop
  // The current loop; written before `generation`, read after it.
  std::atomic<int64_t> next{0};
  int64_t count = 0;
  int64_t grain = 1;
  const std::function<void(int64_t, int64_t)>* body = nullptr;

  void Work() {
    for (;;) {
      const int64_t begin = next.fetch_add(grain, std::memory_order_relaxed);
      if (begin >= count) return;
      (*body)(begin, std::min(begin + grain, count));
    }
  }

  void WaitForLoop(uint64_t seen) {
    for (int i = 0; i < kSpins; ++i) {
      if (generation.load(std::memory_order_acquire) != seen) return;
      Relax();
    }
    std::unique_lock lock(mutex);
    wake.wait(lock, [&] { return generation.load(std::memory_order_acquire) != seen; });
  }

  void Worker() {
    for (uint64_t seen = 0;;) {
      WaitForLoop(seen);
      ++seen;
      if (stop.load(std::memory_order_acquire)) return;
      Work();
      running.fetch_sub(1, std::memory_order_acq_rel);
    }
  }

  void StartLoop() {
    {
      const std::lock_guard lock(mutex);
      generation.fetch_add(1, std::memory_order_acq_rel);
    }
    wake.notify_all();
  }
};

ThreadPool::ThreadPool(int threads) : state_(std::make_unique<State>()) {
  CHECK(threads >= 1);
  for (int i = 1; i < threads; ++i)
    state_->workers.emplace_back([s = state_.get()] { s->Worker(); });
}

ThreadPool::~ThreadPool() {
  state_->stop = true;
  state_->StartLoop();
  for (std::thread& worker : state_->workers) worker.join();
}

int ThreadPool::threads() const { return static_cast<int>(state_->workers.size()) + 1; }

void ThreadPool::ParallelFor(int64_t count, int64_t grain,
                             const std::function<void(int64_t, int64_t)>& body) {
  if (count <= 0) return;
  grain = std::max<int64_t>(grain, 1);
  if (state_->workers.empty() || count <= grain) return body(0, count);
  state_->next = 0;
  state_->count = count;
  state_->grain = grain;
  state_->body = &body;
  state_->running.store(static_cast<int>(state_->workers.size()), std::memory_order_release);
  state_->StartLoop();
  state_->Work();
  for (int spins = 0; state_->running.load(std::memory_order_acquire) != 0; ++spins) {
    Relax();
    if (spins > kSpins) std::this_thread::yield();
  }
}

int DefaultThreads() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1u, std::thread::hardware_concurrency());
}

}  // namespace hexlane
