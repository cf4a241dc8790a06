// Builds one QNN graph, node by node. Weights are copied by the library when added: the caller
// frees them at once.
#ifndef HEXLANE_BACKENDS_QNN_DRIVER_GRAPH_BUILDER_H_
#define HEXLANE_BACKENDS_QNN_DRIVER_GRAPH_BUILDER_H_

#include <deque>
#include <initializer_list>
#include <optional>
#include <unordered_set>

#include "backends/qnn/driver/compiled_graph.h"

namespace hexlane::qnn {

class Activity;

// A tensor of the graph being built.
struct Ref {
  int32_t index = -1;
  bool valid() const { return index >= 0; }
};

// A parameter of an op: a scalar, or a small integer array.
struct IntArray {
  DataType type = DataType::kU32;  // or kI32
  Shape shape;
  std::vector<int32_t> values;
};
struct Param {
  const char* name;
  std::variant<uint32_t, int32_t, float, bool, IntArray> value;
};

// One op. Its output is the new inner tensor `out`, named like the op, or `into` when that is
// valid.
struct NodeSpec {
  const char* type = "";  // "Conv2d"
  std::string name;       // unique; with the layer: "layers.3.down_proj"
  std::vector<Ref> inputs;
  std::vector<Param> params = {};
  TensorSpec out = {};
  Ref into = {};
};

struct GraphOptions {
  int optimization_level = 2;    // 1..3; 3 takes about four times as long to finalise
  int vtcm_mib = 0;              // 0: all that the SoC has
  bool f16_math = false;         // compute f32 tensors in f16
  Activity* activity = nullptr;  // told what is being done, for crash reports; may be null
};

class GraphBuilder {
 public:
  static Result<GraphBuilder> Create(std::shared_ptr<const Context> context, std::string name,
                                     const GraphOptions& options = {});
  GraphBuilder(GraphBuilder&&) = default;
  GraphBuilder& operator=(GraphBuilder&&) = delete;

  // Graph inputs and outputs, in the order in which CompiledGraph will list them.
  Result<Ref> Input(std::string name, TensorSpec spec);
  Result<Ref> Output(std::string name, TensorSpec spec);
  // A constant; `bytes` must be spec.bytes() long. One with block scales can be used by one op
  // only.
  Result<Ref> Constant(std::string name, TensorSpec spec, std::span<const std::byte> bytes);
  template <typename T>
  Result<Ref> Constant(std::string name, TensorSpec spec, const std::vector<T>& values) {
    return Constant(std::move(name), std::move(spec), std::as_bytes(std::span(values)));
  }
  // Validates and adds an op; returns its output.
  Result<Ref> Add(NodeSpec node);

  const TensorSpec& spec(Ref ref) const;

  // Compiles the graph. The builder is used up.
  Result<CompiledGraph> Finalize() &&;

 private:
  struct Entry {
    std::string name;
    TensorSpec spec;
    abi::TensorType type;
    uint32_t id = 0;
    std::vector<uint32_t> dims;
    abi::BlockExpansion expansion = {};
  };

  GraphBuilder(std::shared_ptr<const Context> context, std::string name,
               const GraphOptions& options)
      : context_(std::move(context)), name_(std::move(name)), options_(options) {}
  Result<void> CreateGraph();
  Result<Ref> NewTensor(std::string name, abi::TensorType type, TensorSpec spec,
                        std::span<const std::byte> bytes);
  abi::Tensor AbiTensor(Entry& entry) const;
  Result<void> SetParams(const NodeSpec& node, std::vector<abi::Param>& params);
  Result<void> AddNode(const NodeSpec& node, const abi::OpConfig& op);
  void Note(std::string_view doing, std::string_view type, std::string_view name) const;

  std::shared_ptr<const Context> context_;
  abi::Handle graph_ = nullptr;
  std::string name_;
  GraphOptions options_;
  std::deque<Entry> entries_;  // index = Ref; addresses are stable
  std::unordered_set<std::string> names_;
  std::vector<Ref> inputs_, outputs_;
};

}  // namespace hexlane::qnn

#endif  // HEXLANE_BACKENDS_QNN_DRIVER_GRAPH_BUILDER_H_
