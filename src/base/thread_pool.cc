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

// A loop is cut into pieces; `ticket` holds the loop's number and the next piece that nobody has
// claimed. The caller waits for claimed pieces only: a worker that the system does not let run
// delays nobody. A worker reads a loop's description and then claims a piece by changing the ticket
// it saw. Success proves that the loop was unfinished until then, so the description was its own:
// the caller closes the ticket and describes the next loop only when every piece of the last one is
// done.
struct ThreadPool::State {
  std::vector<std::thread> workers;
  std::mutex mutex;
  std::condition_variable wake;
  std::atomic<int> sleepers{0};  // workers in, or about to enter, `wake`
  std::atomic<bool> stop{false};

  std::atomic<uint64_t> ticket{0};  // loop number << 32 | next piece
  std::atomic<int64_t> done{0};     // finished pieces of the current loop
  // The current loop.
  std::atomic<int64_t> pieces{0};
  std::atomic<int64_t> count{0};
  std::atomic<int64_t> grain{1};
  std::atomic<const std::function<void(int64_t, int64_t)>*> body{nullptr};

  // Claims and runs pieces until the current loop has none left.
  void Work() {
    uint64_t seen = ticket.load(std::memory_order_acquire);
    for (;;) {
      const auto piece = static_cast<int64_t>(seen & 0xffffffffu);
      const int64_t step = grain.load(std::memory_order_acquire);
      const int64_t end = count.load(std::memory_order_acquire);
      const auto* run = body.load(std::memory_order_acquire);
      if (piece >= pieces.load(std::memory_order_acquire)) return;
      if (!ticket.compare_exchange_weak(seen, seen + 1, std::memory_order_acq_rel,
                                        std::memory_order_acquire))
        continue;
      (*run)(piece* step, std::min((piece + 1) * step, end));
      done.fetch_add(1, std::memory_order_release);
      seen = ticket.load(std::memory_order_acquire);
    }
  }

  uint64_t Loop() const { return ticket.load() >> 32; }

  void WaitForLoop(uint64_t last) {
    for (int i = 0; i < kSpins; ++i) {
      if (Loop() != last) return;
      Relax();
    }
    std::unique_lock lock(mutex);
    sleepers.fetch_add(1);
    wake.wait(lock, [&] { return Loop() != last; });
    sleepers.fetch_sub(1);
  }

  void Worker() {
    for (uint64_t last = 0;;) {
      WaitForLoop(last);
      last = Loop();
      if (stop.load(std::memory_order_acquire)) return;
      Work();
    }
  }

  // Until the next StartLoop nobody can claim a piece, so that whoever sees a part of the next
  // loop's description early fails to claim by the last loop's ticket.
  void Close() { ticket.store(ticket.load() | 0xffffffffu); }

  // Sequentially consistent with `sleepers`: either this sees the sleeper, or the sleeper sees the
  // loop.
  void StartLoop() {
    ticket.store((Loop() + 1) << 32);
    if (sleepers.load() == 0) return;
    {
      const std::lock_guard lock(mutex);
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
  state_->Close();
  state_->pieces = 0;
  state_->stop = true;
  state_->StartLoop();
  for (std::thread& worker : state_->workers) worker.join();
}

int ThreadPool::threads() const { return static_cast<int>(state_->workers.size()) + 1; }

void ThreadPool::ParallelFor(int64_t count, int64_t grain,
                             const std::function<void(int64_t, int64_t)>& body) {
  if (count <= 0) return;
  // At most 2^31 pieces, the ticket's room.
  grain = std::max<int64_t>({grain, 1, count >> 31});
  if (state_->workers.empty() || count <= grain) return body(0, count);
  const int64_t pieces = (count + grain - 1) / grain;
  state_->Close();
  state_->done.store(0, std::memory_order_release);
  state_->pieces.store(pieces, std::memory_order_release);
  state_->count.store(count, std::memory_order_release);
  state_->grain.store(grain, std::memory_order_release);
  state_->body.store(&body, std::memory_order_release);
  state_->StartLoop();
  state_->Work();
  for (int spins = 0; state_->done.load(std::memory_order_acquire) != pieces; ++spins) {
    Relax();
    if (spins > kSpins) std::this_thread::yield();
  }
}

void ParallelFor(ThreadPool* pool, int64_t count, int64_t grain,
                 const std::function<void(int64_t, int64_t)>& body) {
  if (pool)
    pool->ParallelFor(count, grain, body);
  else if (count > 0)
    body(0, count);
}

int DefaultThreads() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1u, std::thread::hardware_concurrency());
}

}  // namespace hexlane
