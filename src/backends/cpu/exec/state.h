// All memory that running a program needs, allocated once.
#ifndef HEXLANE_BACKENDS_CPU_EXEC_STATE_H_
#define HEXLANE_BACKENDS_CPU_EXEC_STATE_H_

#include "backends/cpu/exec/program.h"

namespace hexlane {

struct StateSize {
  int64_t rows = 0;     // of the largest stage
  int64_t context = 0;  // of the largest stage
};

class CpuState : public ExecutorState {
 public:
  // kInvalidInput or kEnvironment when the memory cannot be had. Caches start as zeros, and cost
  // memory only as far as they are filled.
  static Result<std::unique_ptr<CpuState>> Create(const Program& program, StateSize size,
                                                  ThreadPool& pool);

  // The frame for `rows` rows after `past` positions, rotations computed. Rows and past must fit
  // the size.
  Frame& Begin(int64_t rows, int64_t past);

 private:
  struct Free {
    void operator()(void* p) const;
  };
  using Memory = std::unique_ptr<std::byte, Free>;

  CpuState(const Program& program, StateSize size, ThreadPool& pool);
  void Layout(std::byte* memory, size_t& bytes);  // null memory: only counts

  const Program& program_;
  StateSize size_;
  ThreadPool& pool_;
  Memory memory_;
  QuantizedRowsBuffer quantized_;
  Frame frame_;
};

}  // namespace hexlane

#endif  // HEXLANE_BACKENDS_CPU_EXEC_STATE_H_
