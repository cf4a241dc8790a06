// The forms that a matrix can have: which of them NPUs take, what each costs and loses.
#ifndef HEXLANE_COMPILER_WEIGHT_FORMS_H_
#define HEXLANE_COMPILER_WEIGHT_FORMS_H_

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "backends/emitter.h"
#include "base/tensor.h"
#include "base/thread_pool.h"
#include "ir/graph.h"
#include "quant/algorithm/gptq.h"
#include "quant/moments.h"
#include "quant/quantize_tensor.h"
#include "quant/schemes.h"
#include "target/target.h"

namespace hexlane {

struct WeightForm {
  Scheme scheme = Scheme::kPlain;
  double bits = 0;   // of the whole matrix as stored
  double error = 0;  // of what the matrix gives, or of itself: FormTrials
};

double StoredBits(Scheme scheme, const Shape& shape);

// Tries forms of a matrix on kRowsLookedAt rows spread over it. With moments of its inputs x, forms
// are rounded as `algorithm` does and an error is Σ|(W - Ŵ) x|² / Σ|W x|²; without, to nearest, and
// Σ(w - ŵ)² / Σw².
class FormTrials {
 public:
  // `moments` may be null; they and `pool` outlive the trials.
  static Result<FormTrials> Create(const TensorView& matrix, const Algorithm& algorithm,
                                   const Moments* moments, ThreadPool* pool);

  Result<WeightForm> Try(Scheme scheme) const;
  // The error of rounding to nearest.
  Result<double> NearestError(Scheme scheme) const;

 private:
  Result<double> ErrorOf(Scheme scheme, const WeightFit& fit) const;
  double Energy(std::span<const float> rows) const;

  Shape shape_;  // of the matrix
  Tensor rows_;
  const Moments* moments_ = nullptr;
  std::optional<Gptq> gptq_;
  WeightFit fit_;  // but for gptq_
  double energy_ = 0;
  ThreadPool* pool_ = nullptr;
};
inline constexpr int64_t kRowsLookedAt = 128;

// Every row of schemes.def and float16, in that order.
std::vector<Scheme> AllForms();

// Which forms a unit's matrices cannot have on NPUs that would take the scheme's, by asking the
// emitter about sketches of the unit. An embedding is looked up by the CPU: any form will do.
class NpuForms {
 public:
  // Forms must suit all of `targets`; where there are none, any of those known.
  static Result<NpuForms> Create(const QuantOptions& options,
                                 std::span<const Target* const> targets);

  // By the weight's name; a matrix that has all forms is left out.
  Result<std::map<std::string, std::set<Scheme>>> Refused(const Graph& unit) const;

 private:
  bool Takes(const Graph& sketch, const Node& node) const;
  Result<Graph> Sketch(const Graph& unit, Scheme form) const;

  QuantOptions options_;
  std::vector<const Target*> targets_;
  std::unique_ptr<Emitter> emitter_;
};

}  // namespace hexlane

#endif  // HEXLANE_COMPILER_WEIGHT_FORMS_H_
