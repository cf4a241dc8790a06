// Runs any Graph with the reference kernels in float32: the oracle that everything else is compared
// with. With fake quantisation every value is rounded to its encoding as soon as it is computed, so
// that the result is what exact arithmetic on the quantised representation would give.
#ifndef HEXLANE_INTERP_INTERPRETER_H_
#define HEXLANE_INTERP_INTERPRETER_H_

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "ir/graph.h"

namespace hexlane {

// A value outside a graph: floats, or ints for ids and past_len.
struct HostValue {
  Shape shape;
  std::vector<float> floats;
  std::vector<int32_t> ints;
};
using Bindings = std::map<std::string, HostValue, std::less<>>;

// Called after each value is computed (before fake quantisation). For Attention's scores, which
// exist one row at a time, `values` holds just their least and greatest visible entry.
using Observer = std::function<void(const Value& value, std::span<const float> values)>;

struct InterpreterOptions {
  bool fake_quantise =
      false;  // round values that have an encoding; otherwise encodings are ignored
  ThreadPool* pool = nullptr;
};

// The values of one run, by ValueId: as rounded, where they are.
struct RunValues {
  int64_t rows = 0;
  int64_t past = 0;
  std::vector<std::vector<float>> floats;
  std::vector<std::span<const float>> bound;  // inputs, not copied unless they are rounded
  std::vector<std::span<const int32_t>> ints;
};

// Keeps the graph's constants as float32 once they have been used, but for plain matrices.
// Thread-compatible.
class Interpreter {
 public:
  // `graph` and `options.pool` must outlive the interpreter.
  Interpreter(const Graph& graph, const InterpreterOptions& options);

  // Inputs by name: all of the graph's, with the symbols of their shapes bound to numbers. The
  // cached positions are the rows of past_k, so past_len equals them. Returns the graph's outputs.
  // kInvalidInput when an input is missing, misshapen or an id is out of range.
  Result<Bindings> Run(const Bindings& inputs, const Observer& observer = {});

  // Runs likewise and gives every value, for who goes back through the graph. `inputs` must outlive
  // what is returned.
  Result<RunValues> Trace(const Bindings& inputs, const Observer& observer = {});
  // A value of a run, or a constant, as floats; valid as long as both.
  std::span<const float> Floats(ValueId id, const RunValues& values);

 private:
  using Frame = RunValues;
  Result<void> Bind(const Bindings& inputs, Frame& frame) const;
  Result<void> RunNode(const Node& node, Frame& frame, const Observer& observer);
  void Finish(ValueId id, Frame& frame, const Observer& observer) const;
  std::span<const float> ConstantFloats(ValueId id);
  // What Linear multiplies by: a plain constant as it is stored, anything else as floats.
  TensorView Matrix(ValueId id, const Frame& frame);

  Result<void> Embedding(const Node& node, Frame& frame);
  void Linear(const Node& node, Frame& frame);
  void RmsNorm(const Node& node, Frame& frame);
  void Rope(const Node& node, Frame& frame);
  void Attention(const Node& node, Frame& frame, const Observer& observer);
  void Elementwise(const Node& node, Frame& frame);

  const Graph& graph_;
  InterpreterOptions options_;
  std::vector<std::vector<float>> constants_;  // by ValueId; empty until used
};

// A constant's values as float32, whatever its dtype or scheme.
std::vector<float> ToFloats(const TensorView& tensor);

}  // namespace hexlane

#endif  // HEXLANE_INTERP_INTERPRETER_H_
