#ifndef HEXLANE_RUNTIME_SESSION_IMPL_H_
#define HEXLANE_RUNTIME_SESSION_IMPL_H_

#include <memory>
#include <vector>

#include "hexlane/engine.h"
#include "runtime/engine_impl.h"
#include "runtime/steps.h"

namespace hexlane {

struct Session::Impl {
  std::shared_ptr<const Engine::Impl> engine;
  ModelState state;
  std::vector<int32_t> tokens;    // in the cache; capacity reserved for the whole context
  std::vector<float> logits;      // [vocab] after the last token
  std::vector<float> all_logits;  // [largest rows, vocab]; allocated by the first Evaluate

  static Result<std::unique_ptr<Impl>> New(std::shared_ptr<const Engine::Impl> engine);

  const Model& model() const { return *engine->model; }
  int64_t position() const { return static_cast<int64_t>(tokens.size()); }
  int64_t capacity() const { return model().context(); }

  // kInvalidInput unless there are ids, all in the vocabulary, and there is room for them.
  Result<void> CheckFits(std::span<const int32_t> ids) const;
  // The step that runs the first of `ids`.
  Step Next(std::span<const int32_t> ids) const;
  // Runs the first step.rows of `ids` and appends them; `logits` as in ModelRun.
  Result<void> RunStep(const Step& step, std::span<const int32_t> ids, const ModelRun& run);
  // One step of `ids` that ends with this->logits; gives the tokens done. No allocation.
  Result<int> Advance(std::span<const int32_t> ids, RunTimes* times);
};

}  // namespace hexlane

#endif  // HEXLANE_RUNTIME_SESSION_IMPL_H_
