// Gradients of a unit: back through the values of one run, op by op.
#ifndef HEXLANE_INTERP_GRADIENT_BACKWARD_H_
#define HEXLANE_INTERP_GRADIENT_BACKWARD_H_

#include <functional>
#include <set>
#include <span>
#include <vector>

#include "interp/interpreter.h"

namespace hexlane {

struct BackwardArgs {
  const Graph* graph = nullptr;
  Interpreter* interpreter = nullptr;  // of the graph
  const RunValues* values = nullptr;   // its Trace, with an empty cache
  std::set<ValueId> wanted;            // matrices, biases, norm weights; inputs of the graph
  ThreadPool* pool = nullptr;          // may be null
};

// Takes the gradient of something wanted; called once for each node that reads a constant, as soon
// as it is known (the constant's value is not needed any more), and once for an input.
using GradientSink = std::function<void(ValueId id, std::span<const float> gradient)>;

// `output`: the gradient of a number at the graph's first output, [rows, dim]. Rounding counts as
// the identity (straight-through estimator: Bengio et al. 2013). Memory: the gradients of values
// that are still to be passed on.
void GoBack(const BackwardArgs& args, std::vector<float> output, const GradientSink& sink);

}  // namespace hexlane

#endif  // HEXLANE_INTERP_GRADIENT_BACKWARD_H_
