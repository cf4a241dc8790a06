#include "backends/qnn/driver/compiled_graph.h"

#include "backends/qnn/driver/errors.h"
#include "backends/qnn/driver/log.h"
#include "backends/qnn/driver/silence.h"

namespace hexlane::qnn {
namespace {

// The library matches execute operands by id alone.
std::vector<abi::Tensor> Operands(const std::vector<TensorInfo>& infos, abi::TensorType type) {
  std::vector<abi::Tensor> tensors(infos.size());
  for (size_t i = 0; i < infos.size(); ++i) {
    tensors[i].v1.id = infos[i].id;
    tensors[i].v1.type = type;
    tensors[i].v1.data_type = infos[i].spec.type;
  }
  return tensors;
}

template <typename Byte>
Result<void> Bind(const std::string& graph, const std::vector<TensorInfo>& infos,
                  std::span<const std::span<Byte>> buffers, std::vector<abi::Tensor>& tensors) {
  if (buffers.size() != infos.size())
    return InvalidInput("wrong number of buffers")
        .At("graph {}", graph)
        .Want("{}", infos.size())
        .Got("{}", buffers.size());
  for (size_t i = 0; i < infos.size(); ++i) {
    const size_t want = infos[i].spec.bytes();
    if (buffers[i].size() != want)
      return InvalidInput("buffer of the wrong size")
          .At("graph {}, tensor {}", graph, infos[i].name)
          .Want("{} bytes", want)
          .Got("{}", buffers[i].size());
    // The library takes inputs through a non-const pointer and only reads them.
    tensors[i].v1.buffer = {const_cast<std::byte*>(buffers[i].data()), static_cast<uint32_t>(want)};
  }
  return {};
}

}  // namespace

CompiledGraph::CompiledGraph(std::shared_ptr<const Context> context, abi::Handle handle,
                             std::string name, std::vector<TensorInfo> inputs,
                             std::vector<TensorInfo> outputs)
    : context_(std::move(context)),
      graph_(handle),
      name_(std::move(name)),
      inputs_(std::move(inputs)),
      outputs_(std::move(outputs)),
      input_tensors_(Operands(inputs_, abi::TensorType::kAppWrite)),
      output_tensors_(Operands(outputs_, abi::TensorType::kAppRead)) {}

Result<CompiledGraph> CompiledGraph::Retrieve(std::shared_ptr<const Context> context,
                                              std::string name, std::vector<TensorInfo> inputs,
                                              std::vector<TensorInfo> outputs) {
  abi::Handle handle = nullptr;
  if (abi::Status status = context->fn().GraphRetrieve(context->handle(), name.c_str(), &handle))
    return VendorFailure(status, fmt::format("the QNN context has no graph '{}'", name));
  return CompiledGraph(std::move(context), handle, std::move(name), std::move(inputs),
                       std::move(outputs));
}

Result<void> CompiledGraph::Execute(std::span<const std::span<const std::byte>> inputs,
                                    std::span<const std::span<std::byte>> outputs) {
  TRY(Bind(name_, inputs_, inputs, input_tensors_));
  TRY(Bind(name_, outputs_, outputs, output_tensors_));
  RecentLog().Clear();
  const abi::Status status =
      context_->fn().GraphExecute(graph_, input_tensors_.data(), input_tensors_.size(),
                                  output_tensors_.data(), output_tensors_.size(), nullptr, nullptr);
  if (status != 0) return VendorFailure(status, fmt::format("graph '{}' failed to run", name_));
  return {};
}

}  // namespace hexlane::qnn
