#include "compiler/ep_context.h"

#include <ep_context.pb.h>

#include <optional>

namespace hexlane {
namespace {

constexpr int kIrVersion = 8;  // of ONNX 1.12, with operator set 17
constexpr int kOpset = 17;
constexpr const char* kMicrosoft = "com.microsoft";

std::optional<onnx::ElementType> OnnxType(DType type) {
  switch (type) {
    case DType::kF32: return onnx::FLOAT;
    case DType::kF16: return onnx::FLOAT16;
    case DType::kI32: return onnx::INT32;
    case DType::kI16: return onnx::INT16;
    case DType::kI8: return onnx::INT8;
    case DType::kU32: return onnx::UINT32;
    case DType::kU16: return onnx::UINT16;
    case DType::kU8: return onnx::UINT8;
    default: return std::nullopt;
  }
}

Result<void> Describe(const EpContextTensor& tensor, onnx::ValueInfo& info) {
  const auto type = OnnxType(tensor.type);
  if (!type) return Unsupported("tensor '{}' is of {}", tensor.name, DTypeName(tensor.type));
  info.set_name(tensor.name);
  auto& description = *info.mutable_type()->mutable_tensor_type();
  description.set_elem_type(*type);
  for (const int64_t dim : tensor.shape.dims())
    description.mutable_shape()->add_dim()->set_dim_value(dim);
  return {};
}

void AddAttribute(onnx::Node& node, const char* name, int64_t value) {
  onnx::Attribute& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(onnx::Attribute::INT);
  attribute.set_i(value);
}

void AddAttribute(onnx::Node& node, const char* name, const std::string& value) {
  onnx::Attribute& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(onnx::Attribute::STRING);
  attribute.set_s(value);
}

// The provider looks the graph up by the node's name, not by partition_name. Every model owns its
// context (main_context 1): whichever is opened first loads the binary, and sessions that share
// contexts take the other graphs from it.
void AddNode(const EpContextModel& model, onnx::Graph& graph) {
  onnx::Node& node = *graph.add_node();
  node.set_name(model.graph);
  node.set_op_type("EPContext");
  node.set_domain(kMicrosoft);
  for (const EpContextTensor& tensor : model.inputs) node.add_input(tensor.name);
  for (const EpContextTensor& tensor : model.outputs) node.add_output(tensor.name);
  AddAttribute(node, "main_context", 1);
  AddAttribute(node, "embed_mode", 0);
  AddAttribute(node, "ep_cache_context", model.binary);
  AddAttribute(node, "ep_sdk_version", model.sdk_version);
  AddAttribute(node, "partition_name", model.graph);
  AddAttribute(node, "hardware_architecture", model.hardware);
  AddAttribute(node, "source", "QNN");
}

void AddOpset(onnx::Model& file, const char* domain, int version) {
  onnx::OperatorSetId& opset = *file.add_opset_import();
  opset.set_domain(domain);
  opset.set_version(version);
}

}  // namespace

Result<std::string> EpContextOnnx(const EpContextModel& model) {
  onnx::Model file;
  file.set_ir_version(kIrVersion);
  file.set_producer_name("hexlane");
  file.set_producer_version(HEXLANE_VERSION);
  AddOpset(file, "", kOpset);
  AddOpset(file, kMicrosoft, 1);
  onnx::Graph& graph = *file.mutable_graph();
  graph.set_name(model.graph);
  for (const EpContextTensor& tensor : model.inputs) TRY(Describe(tensor, *graph.add_input()));
  for (const EpContextTensor& tensor : model.outputs) TRY(Describe(tensor, *graph.add_output()));
  AddNode(model, graph);
  return file.SerializeAsString();
}

}  // namespace hexlane
