#include <algorithm>
#include <chrono>

#include "backends/cpu/exec/state.h"
#include "backends/executor_check.h"
#include "backends/executors.h"
#include "base/check.h"

namespace hexlane {
namespace {

using Clock = std::chrono::steady_clock;
double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

class CpuExecutor : public Executor {
 public:
  CpuExecutor(const LoadArgs& args, Program program)
      : package_(args.package),
        variant_(*args.variant),
        part_(*args.part),
        pool_(*args.pool),
        program_(std::move(program)) {}

  Result<std::unique_ptr<ExecutorState>> NewState() const override {
    StateSize size;
    for (const StageShape& stage : variant_.stages) {
      size.rows = std::max<int64_t>(size.rows, stage.rows);
      size.context = std::max<int64_t>(size.context, stage.context);
    }
    return std::unique_ptr<ExecutorState>(TRY(CpuState::Create(program_, size, pool_)));
  }

  Result<void> Run(ExecutorState& state, const RunArgs& args) const override {
    TRY(CheckRunArgs(package_->plan().model, variant_, part_, args));
    const Clock::time_point start = Clock::now();
    Frame& frame = static_cast<CpuState&>(state).Begin(args.rows, args.past_len);
    frame.ids = args.ids;
    if (program_.input() >= 0) std::ranges::copy(args.input, Buffer(frame, program_.input()));
    if (program_.output_is_result_only()) Buffer(frame, program_.output()) = args.output.data();
    const bool last_row_only = part_.output == "logits" && !args.all_logits;
    program_.Run(frame, last_row_only, args.observer);
    if (!program_.output_is_result_only())
      std::copy_n(Buffer(frame, program_.output()), args.output.size(), args.output.data());
    if (args.times) args.times->execute += SecondsSince(start);
    return {};
  }

 private:
  static float*& Buffer(Frame& frame, int index) {
    return frame.buffers[static_cast<size_t>(index)];
  }

  std::shared_ptr<const Package> package_;
  Variant variant_;
  Part part_;
  ThreadPool& pool_;
  Program program_;
};

// What the tape cannot know: the run's input and output have the model's sizes.
Result<void> CheckEnds(const Tape& tape, const LoadArgs& args) {
  const ModelShape& model = args.package->plan().model;
  const std::string& file = args.part->files[0];
  if ((tape.input < 0) != (args.part->input == "ids"))
    return Corrupt("the tape's input is not '{}'", args.part->input).At("{}", file);
  const auto columns = [&](int buffer) { return tape.buffers[static_cast<size_t>(buffer)]; };
  if (tape.input >= 0 && columns(tape.input) != model.hidden)
    return Corrupt("the tape's input has {} columns", columns(tape.input)).At("{}", file);
  const int64_t want = args.part->output == "logits" ? model.vocab : model.hidden;
  if (columns(tape.output) != want)
    return Corrupt("the tape's output has the wrong size")
        .At("{}", file)
        .Want("{}", want)
        .Got("{}", columns(tape.output));
  return {};
}

// Ids are checked against the model's vocabulary, so every table must have that many rows.
Result<void> CheckTables(const Tape& tape, const LoadArgs& args) {
  for (const TapeStep& step : tape.steps) {
    if (step.op != TapeOp::kEmbedding) continue;
    const Tensor table = TRY(args.package->Weight(step.weights[0]));
    if (table.shape().rank() != 2 || table.shape()[0] < args.package->plan().model.vocab)
      return Corrupt("the table is smaller than the vocabulary")
          .At("{}", step.weights[0])
          .Got("{}", table.shape());
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<Executor>> LoadCpuExecutor(const LoadArgs& args) {
  CHECK(args.pool != nullptr);
  if (args.part->files.size() != 1)
    return Corrupt("a CPU part has one tape").Got("{} files", args.part->files.size());
  const std::string& file = args.part->files[0];
  const Tape tape =
      TRY(TapeFromJson(TRY(ParseJson(TRY(args.package->ReadText(file)), file)), file));
  TRY(CheckEnds(tape, args));
  TRY(CheckTables(tape, args));
  const WeightSource weights = [&](std::string_view name) { return args.package->Weight(name); };
  return std::unique_ptr<Executor>(
      std::make_unique<CpuExecutor>(args, TRY(Program::Load(tape, weights))));
}

}  // namespace hexlane
