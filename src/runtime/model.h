// The loaded part of an Engine: one variant's executors. Sessions run it through a ModelState.
#ifndef HEXLANE_RUNTIME_MODEL_H_
#define HEXLANE_RUNTIME_MODEL_H_

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "backends/executor.h"
#include "hexlane/engine.h"
#include "runtime/power/votes.h"

namespace hexlane {

// What one session has of a model: a state for each part, and the values between parts.
struct ModelState {
  std::vector<std::unique_ptr<ExecutorState>> parts;
  std::vector<float> hidden[2];  // [largest rows, hidden], used in turn; empty for a single part
};

// One run of all parts: see RunArgs.
struct ModelRun {
  StageShape stage;
  int64_t past_len = 0;
  std::span<const int32_t> ids;  // [rows]
  std::span<float> logits;       // [vocab] of the last row, or [rows, vocab]
  bool all_logits = false;
  const ValueObserver* observer = nullptr;
  RunTimes* times = nullptr;
};

// Immutable. Run may be called from any thread, with one state per caller; runs take turns.
class Model {
 public:
  // The first variant of SelectVariants that loads. `fallback_reason` says why earlier ones did
  // not. When none loads: the error of the only one, or of the last with all reasons.
  static Result<std::unique_ptr<Model>> Load(std::shared_ptr<const Package> package,
                                             const EngineOptions& options);

  const Package& package() const { return *package_; }
  const ModelShape& shape() const { return package_->plan().model; }
  const Variant& variant() const { return *variant_; }
  const std::string& fallback_reason() const { return fallback_reason_; }
  int threads() const { return pool_->threads(); }
  int context() const { return context_; }  // positions that a session holds
  PowerVotes& votes() const { return *votes_; }
  PowerControl* power() const { return power_.get(); }  // may be null

  Result<ModelState> NewState() const;
  Result<void> Run(ModelState& state, const ModelRun& run) const;
  void Trim(TrimLevel level) const;

 private:
  Model() = default;
  Result<void> LoadFirst(const EngineOptions& options);
  Result<void> LoadVariant(const Variant& variant, const EngineOptions& options);
  Result<void> SetContext(int wanted);

  std::shared_ptr<const Package> package_;
  std::unique_ptr<ThreadPool> pool_;
  const Variant* variant_ = nullptr;  // in package_
  std::vector<std::unique_ptr<Executor>> executors_;
  std::shared_ptr<PowerControl> power_;
  std::unique_ptr<PowerVotes> votes_;  // over executors_
  std::string fallback_reason_;
  int context_ = 0;
  mutable std::mutex mutex_;  // executors and pool serve one run at a time
};

}  // namespace hexlane

#endif  // HEXLANE_RUNTIME_MODEL_H_
