#include "backends/cpu/exec/program.h"

#include <algorithm>

namespace hexlane {
namespace {

LoadedStep LoadStep(StepContext& context) {
  switch (context.step.op) {
    case TapeOp::kEmbedding: return LoadEmbedding(context);
    case TapeOp::kRmsNorm: return LoadRmsNorm(context);
    case TapeOp::kRope: return LoadRope(context);
    case TapeOp::kAttention: return LoadAttention(context);
    case TapeOp::kLinear: return LoadedStep(TRY(LinearStep::Load(context)));
    case TapeOp::kAdd:
    case TapeOp::kMul:
    case TapeOp::kSilu:
    case TapeOp::kSiluMul: return LoadElementwise(context);
  }
  CheckFailed(__FILE__, __LINE__, "every op has a row above");
}

int Mentions(const Tape& tape, int buffer) {
  int count = tape.input == buffer;
  for (const TapeStep& step : tape.steps)
    count +=
        static_cast<int>(std::count(step.in.begin(), step.in.end(), buffer)) + (step.out == buffer);
  return count;
}

}  // namespace

Result<Program> Program::Load(const Tape& tape, const WeightSource& weights) {
  Program program;
  TRY(program.AddSteps(tape, weights));
  const TapeStep& last = tape.steps.back();
  program.output_is_result_only_ = last.out == tape.output && !last.accumulate &&
                                   last.op != TapeOp::kAttention &&
                                   Mentions(tape, tape.output) == 1;
  program.tape_ = tape;
  program.tape_.steps.clear();
  return program;
}

Result<void> Program::AddSteps(const Tape& tape, const WeightSource& weights) {
  LinearStep* linear = nullptr;  // the step before, when it is one
  for (const TapeStep& row : tape.steps) {
    StepContext context{row, tape.buffers, {}, needs_};
    if (row.op == TapeOp::kEmbedding && tape.input >= 0)
      return context.Misfit("this part's input is not ids");
    for (const std::string& name : row.weights) context.weights.push_back(TRY(weights(name)));
    std::unique_ptr<Step> step = TRY(LoadStep(context));
    step->name = row.name;
    step->out = row.out;
    auto* next = row.op == TapeOp::kLinear ? static_cast<LinearStep*>(step.get()) : nullptr;
    if (next && linear && linear->Merge(*next)) continue;
    linear = next;
    steps_.push_back(std::move(step));
    if (row.op == TapeOp::kAttention) first_rowwise_ = steps_.size();
  }
  return {};
}

void Program::KeepLastRow(Frame& frame) const {
  const int64_t last = frame.rows - 1;
  for (size_t i = 0; i < frame.buffers.size() && last > 0; ++i) {
    if (output_is_result_only_ && static_cast<int>(i) == tape_.output) continue;  // one row long
    const int64_t columns = tape_.buffers[i];
    std::copy_n(frame.buffers[i] + last * columns, columns, frame.buffers[i]);
  }
  frame.rows = 1;
}

void Program::Run(Frame& frame, bool last_row_only, const ValueObserver* observer) const {
  // An observer wants every row for as long as possible.
  const size_t keep_at = observer ? std::max(first_rowwise_, steps_.size() - 1) : first_rowwise_;
  for (size_t i = 0; i < steps_.size(); ++i) {
    // Ids are needed whole by an embedding, so one row is kept no earlier than after it.
    if (last_row_only && i == std::max<size_t>(keep_at, tape_.input < 0 ? 1 : 0))
      KeepLastRow(frame);
    steps_[i]->Run(frame);
    if (observer) steps_[i]->Observe(frame, tape_.buffers, *observer);
  }
  if (last_row_only && frame.rows > 1) KeepLastRow(frame);
}

}  // namespace hexlane
