// One step of a program, and what it runs on.
#ifndef HEXLANE_BACKENDS_CPU_EXEC_STEP_H_
#define HEXLANE_BACKENDS_CPU_EXEC_STEP_H_

#include <memory>
#include <string>
#include <vector>

#include "backends/cpu/tape/tape.h"
#include "backends/executor.h"
#include "base/tensor.h"
#include "kernels/attention/cached.h"
#include "kernels/matmul/matmul.h"
#include "kernels/rope/rotate.h"

namespace hexlane {

// What the steps of a program need from a state, besides buffers.
struct Needs {
  struct Cache {
    int64_t kv_heads = 0, head_dim = 0;
  };
  struct Table {  // of rotations; computed once per run
    std::string weight;
    std::vector<float> inv_freq;
    float scale = 1;
  };
  std::vector<Cache> caches;  // one per attention step
  std::vector<Table> tables;
  int64_t widest = 0;  // columns of any linear's input
};

// The changing side of one run: a state's memory, and the run's arguments.
struct Frame {
  std::vector<float*> buffers;
  std::vector<KvCacheView> caches;
  std::vector<RopeTable> tables;  // head_dim is the step's
  float* scratch = nullptr;       // kAttendPieces · AttendScratch(context) floats
  int64_t scratch_piece = 0;      // floats of one piece
  QuantizedRowsBuffer* quantized = nullptr;
  ThreadPool* pool = nullptr;
  std::span<const int32_t> ids;
  int64_t rows = 0;  // valid ones
  int64_t past = 0;
};

// Pieces that an attention step is cut into at most; each has its own scratch.
int AttendPieces(const ThreadPool& pool);

class Step {
 public:
  virtual ~Step() = default;
  virtual void Run(Frame& frame) const = 0;
  // Names of the values that stand in `out` after the step.
  virtual void Observe(const Frame& frame, const std::vector<int64_t>& columns,
                       const ValueObserver& observer) const;

  std::string name;
  int out = 0;
};

// A tape's step being loaded.
struct StepContext {
  const TapeStep& step;
  const std::vector<int64_t>& columns;  // of the buffers
  std::vector<Tensor> weights;          // of the step
  Needs& needs;

  int64_t in(size_t i) const { return columns[static_cast<size_t>(step.in[i])]; }
  int64_t out() const { return columns[static_cast<size_t>(step.out)]; }
  // kCorrupt about this step.
  Failure Misfit(std::string_view what) const {
    return Corrupt("{}", what).At("tape step '{}' ({})", step.name, Info(step.op).name);
  }
};

// One loader per group of ops. Each checks everything that Run relies on.
using LoadedStep = Result<std::unique_ptr<Step>>;
LoadedStep LoadEmbedding(StepContext& context);
LoadedStep LoadRmsNorm(StepContext& context);
LoadedStep LoadElementwise(StepContext& context);
LoadedStep LoadRope(StepContext& context);
LoadedStep LoadAttention(StepContext& context);

// Consecutive linear steps with one input are one Step: one quantisation of the input, one parallel
// loop.
class LinearStep : public Step {
 public:
  static Result<std::unique_ptr<LinearStep>> Load(StepContext& context);
  // Takes in `next` when it reads the same input and neither writes what the other one reads or
  // writes.
  bool Merge(LinearStep& next);
  void Run(Frame& frame) const override;
  void Observe(const Frame& frame, const std::vector<int64_t>& columns,
               const ValueObserver& observer) const override;

 private:
  struct Part {
    std::string name;
    int out = 0;
    bool accumulate = false;
    Tensor weights;
    std::vector<float> bias;
  };
  static constexpr size_t kMaxParts = 8;
  int in_ = 0;
  std::vector<Part> parts_;
};

// A vector of plain f32 or f16, as float32; kCorrupt when the weight is anything else.
Result<std::vector<float>> WeightAsFloats(const StepContext& context, size_t index);

}  // namespace hexlane

#endif  // HEXLANE_BACKENDS_CPU_EXEC_STEP_H_
