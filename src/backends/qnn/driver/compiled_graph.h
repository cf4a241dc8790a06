// A finalised QNN graph, ready to execute.
#ifndef HEXLANE_BACKENDS_QNN_DRIVER_COMPILED_GRAPH_H_
#define HEXLANE_BACKENDS_QNN_DRIVER_COMPILED_GRAPH_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/qnn/driver/context.h"
#include "backends/qnn/driver/tensor.h"

namespace hexlane::qnn {

// Made by GraphBuilder::Finalize or Retrieve. Thread-compatible: one Execute at a time.
class CompiledGraph {
 public:
  // A graph of a loaded context; `inputs` and `outputs` come from ReadBinaryInfo.
  static Result<CompiledGraph> Retrieve(std::shared_ptr<const Context> context, std::string name,
                                        std::vector<TensorInfo> inputs,
                                        std::vector<TensorInfo> outputs);
  CompiledGraph(std::shared_ptr<const Context> context, abi::Handle handle, std::string name,
                std::vector<TensorInfo> inputs, std::vector<TensorInfo> outputs);

  const std::string& name() const { return name_; }
  const std::vector<TensorInfo>& inputs() const { return inputs_; }
  const std::vector<TensorInfo>& outputs() const { return outputs_; }

  // Runs the graph. Buffers in the order of inputs() and outputs(), each of exactly spec.bytes()
  // (the library itself checks no sizes). kInvalidInput, kVendor.
  Result<void> Execute(std::span<const std::span<const std::byte>> inputs,
                       std::span<const std::span<std::byte>> outputs);

 private:
  std::shared_ptr<const Context> context_;
  abi::Handle graph_ = nullptr;
  std::string name_;
  std::vector<TensorInfo> inputs_, outputs_;
  std::vector<abi::Tensor> input_tensors_, output_tensors_;  // ids set, buffers set by Execute
};

}  // namespace hexlane::qnn

#endif  // HEXLANE_BACKENDS_QNN_DRIVER_COMPILED_GRAPH_H_
