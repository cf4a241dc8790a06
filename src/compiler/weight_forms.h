// The forms that a matrix can have: which of them NPUs take, what each costs and loses.
#ifndef HEXLANE_COMPILER_WEIGHT_FORMS_H_
#define HEXLANE_COMPILER_WEIGHT_FORMS_H_

#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "backends/emitter.h"
#include "base/tensor.h"
#include "base/thread_pool.h"
#include "ir/graph.h"
#include "quant/schemes.h"
#include "target/target.h"

namespace hexlane {

struct WeightForm {
  Scheme scheme = Scheme::kPlain;
  double bits = 0;   // of the whole matrix as stored
  double error = 0;  // Σ error² / Σ weight²
};

double StoredBits(Scheme scheme, const Shape& shape);

// `matrix` in `scheme`, rounded to nearest, with scales by search where `searches`. The error is of
// kRowsLookedAt rows spread over it.
Result<WeightForm> TryForm(const TensorView& matrix, Scheme scheme, bool searches,
                           ThreadPool* pool);
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
