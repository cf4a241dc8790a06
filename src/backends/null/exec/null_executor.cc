// The smallest executor, and the fake model of the runtime's tests: it counts. The best next token
// after id is id + 1; the second best depends on every token so far, which shows a wrong cache.
#include <algorithm>
#include <vector>

#include "backends/executor_check.h"
#include "backends/executors.h"

namespace hexlane {
namespace {

struct NullState : ExecutorState {
  std::vector<uint32_t> history;  // [context + 1]; [p]: a hash of the rows at positions < p
};

class NullExecutor : public Executor {
 public:
  explicit NullExecutor(const LoadArgs& args)
      : model_(args.package->plan().model), variant_(*args.variant), part_(*args.part) {}

  Result<std::unique_ptr<ExecutorState>> NewState() const override {
    auto state = std::make_unique<NullState>();
    int context = 0;
    for (const StageShape& stage : variant_.stages) context = std::max(context, stage.context);
    state->history.resize(static_cast<size_t>(context) + 1);
    return std::unique_ptr<ExecutorState>(std::move(state));
  }

  Result<void> Run(ExecutorState& state, const RunArgs& args) const override {
    TRY(CheckRunArgs(model_, variant_, part_, args));
    auto& history = static_cast<NullState&>(state).history;
    for (int row = 0; row < args.rows; ++row) {
      const size_t position = static_cast<size_t>(args.past_len + row);
      const int32_t id = IdOf(args, row);
      history[position + 1] = (history[position] + static_cast<uint32_t>(id) + 1) * 2654435761u;
      WriteRow(args, row, id, history[position + 1]);
    }
    if (args.observer) (*args.observer)(part_.output, args.output);
    return {};
  }

 private:
  // A hidden row starts with its token; the rest repeats it.
  int32_t IdOf(const RunArgs& args, int row) const {
    if (part_.input == "ids") return args.ids[static_cast<size_t>(row)];
    return static_cast<int32_t>(args.input[static_cast<size_t>(row) * model_.hidden]);
  }

  void WriteRow(const RunArgs& args, int row, int32_t id, uint32_t hash) const {
    if (part_.output != "logits") {
      std::ranges::fill(
          args.output.subspan(static_cast<size_t>(row) * model_.hidden, model_.hidden),
          static_cast<float>(id));
      return;
    }
    if (!args.all_logits && row != args.rows - 1) return;
    const std::span<float> logits = args.output.subspan(
        args.all_logits ? static_cast<size_t>(row) * model_.vocab : 0, model_.vocab);
    std::ranges::fill(logits, 0.0f);
    logits[hash % model_.vocab] = 5;
    logits[(id + 1) % model_.vocab] = 10;
  }

  ModelShape model_;
  Variant variant_;
  Part part_;
};

}  // namespace

Result<std::unique_ptr<Executor>> LoadNullExecutor(const LoadArgs& args) {
  return std::unique_ptr<Executor>(std::make_unique<NullExecutor>(args));
}

}  // namespace hexlane
