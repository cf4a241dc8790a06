// A tape made ready to run: every name resolved, every shape checked, every kernel chosen.
#ifndef HEXLANE_BACKENDS_CPU_EXEC_PROGRAM_H_
#define HEXLANE_BACKENDS_CPU_EXEC_PROGRAM_H_

#include <functional>
#include <memory>
#include <vector>

#include "backends/cpu/exec/step.h"
#include "backends/cpu/tape/tape.h"

namespace hexlane {

using WeightSource = std::function<Result<Tensor>(std::string_view name)>;

// Immutable. Steps run on the buffers of a Frame.
class Program {
 public:
  // kCorrupt or kUnsupported names the step and what does not fit.
  static Result<Program> Load(const Tape& tape, const WeightSource& weights);

  const Needs& needs() const { return needs_; }
  const std::vector<int64_t>& buffers() const { return tape_.buffers; }
  int input() const { return tape_.input; }
  int output() const { return tape_.output; }
  ActivationBits activation_bits() const {
    return tape_.activation_bits == 8 ? ActivationBits::k8 : ActivationBits::k16;
  }
  // Whether `output` is written by the last step alone and read by none: it may lie in the caller's
  // memory.
  bool output_is_result_only() const { return output_is_result_only_; }

  // Runs all steps. `last_row_only`: the caller wants the last row's result alone; from the first
  // step on that does not mix rows (after the last attention) just that row is computed, as row 0.
  // The observer sees every row.
  void Run(Frame& frame, bool last_row_only, const ValueObserver* observer) const;

 private:
  Result<void> AddSteps(const Tape& tape, const WeightSource& weights);
  void KeepLastRow(Frame& frame) const;

  Tape tape_;
  Needs needs_;
  std::vector<std::unique_ptr<Step>> steps_;
  size_t first_rowwise_ = 0;  // steps from here on treat each row by itself
  bool output_is_result_only_ = false;
};

}  // namespace hexlane

#endif  // HEXLANE_BACKENDS_CPU_EXEC_PROGRAM_H_
