// A fixed set of threads for data-parallel loops. One pool per Engine; never global.
#ifndef HEXLANE_BASE_THREAD_POOL_H_
#define HEXLANE_BASE_THREAD_POOL_H_

#include <cstdint>
#include <functional>
#include <memory>

namespace hexlane {

class ThreadPool {
 public:
  // `threads` ≥ 1 counts the caller, which works too: ThreadPool(1) starts none.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const;

  // Calls body(begin, end) for pieces of [0, count) of about `grain` items, on all threads; returns
  // when all are done. body must not throw and must not call ParallelFor of the same pool. One
  // caller at a time.
  void ParallelFor(int64_t count, int64_t grain, const std::function<void(int64_t, int64_t)>& body);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// pool->ParallelFor, or body(0, count) where `pool` is null.
void ParallelFor(ThreadPool* pool, int64_t count, int64_t grain,
                 const std::function<void(int64_t, int64_t)>& body);

// Threads to use by default: the processors this process may run on.
int DefaultThreads();

}  // namespace hexlane

#endif  // HEXLANE_BASE_THREAD_POOL_H_
