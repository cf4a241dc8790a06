#include "backends/qnn/driver/graph_builder.h"

#include "backends/qnn/driver/activity.h"
#include "backends/qnn/driver/errors.h"
#include "backends/qnn/driver/log.h"
#include "backends/qnn/driver/quant_params.h"
#include "backends/qnn/driver/silence.h"

namespace hexlane::qnn {
namespace {

constexpr uint32_t kOptimization = 1, kPrecision = 2, kVtcmMib = 3;
constexpr uint32_t kOptimizationLevel = 3;

// The graph's HTP options as the null-terminated array that graphCreate takes.
class HtpGraphConfigs {
 public:
  explicit HtpGraphConfigs(const GraphOptions& options) {
    Next(kOptimization).optimization = {kOptimizationLevel,
                                        static_cast<float>(options.optimization_level)};
    if (options.f16_math) Next(kPrecision).value = 1;
    Next(kVtcmMib).value = options.vtcm_mib;
  }
  HtpGraphConfigs(const HtpGraphConfigs&) = delete;
  HtpGraphConfigs& operator=(const HtpGraphConfigs&) = delete;
  const abi::Config** list() { return list_; }

 private:
  abi::HtpGraphConfig& Next(uint32_t option) {
    abi::HtpGraphConfig& htp = htp_[count_];
    htp.option = option;
    config_[count_].custom = &htp;
    list_[count_] = &config_[count_];
    ++count_;
    return htp;
  }
  int count_ = 0;
  abi::HtpGraphConfig htp_[3];
  abi::Config config_[3];
  const abi::Config* list_[4] = {};
};

abi::Param ScalarParam(const Param& param) {
  abi::Param out;
  out.name = param.name;
  out.scalar = {};
  if (auto* u = std::get_if<uint32_t>(&param.value)) {
    out.scalar.type = DataType::kU32;
    out.scalar.u32 = *u;
  } else if (auto* i = std::get_if<int32_t>(&param.value)) {
    out.scalar.type = DataType::kI32;
    out.scalar.i32 = *i;
  } else if (auto* f = std::get_if<float>(&param.value)) {
    out.scalar.type = DataType::kF32;
    out.scalar.f32 = *f;
  } else if (auto* b = std::get_if<bool>(&param.value)) {
    out.scalar.type = DataType::kBool8;
    out.scalar.b8 = *b;
  }
  return out;
}

// The library has its copy; ours, as large as a tenth of the weights, would pile up.
void ForgetBlockScales(Quant& quant) {
  if (std::holds_alternative<PerBlock>(quant) || std::holds_alternative<Lpbq>(quant)) quant = {};
}

}  // namespace

Result<GraphBuilder> GraphBuilder::Create(std::shared_ptr<const Context> context, std::string name,
                                          const GraphOptions& options) {
  GraphBuilder builder(std::move(context), std::move(name), options);
  TRY(builder.CreateGraph());
  return builder;
}

Result<void> GraphBuilder::CreateGraph() {
  StdoutSilencer silence;
  RecentLog().Clear();
  HtpGraphConfigs configs(options_);
  const abi::Status status =
      context_->fn().GraphCreate(context_->handle(), name_.c_str(), configs.list(), &graph_);
  if (status != 0) return VendorFailure(status, fmt::format("cannot create graph '{}'", name_));
  return {};
}

Result<Ref> GraphBuilder::Input(std::string name, TensorSpec spec) {
  const Ref ref = TRY(NewTensor(std::move(name), abi::TensorType::kAppWrite, std::move(spec), {}));
  inputs_.push_back(ref);
  return ref;
}

Result<Ref> GraphBuilder::Output(std::string name, TensorSpec spec) {
  const Ref ref = TRY(NewTensor(std::move(name), abi::TensorType::kAppRead, std::move(spec), {}));
  outputs_.push_back(ref);
  return ref;
}

Result<Ref> GraphBuilder::Constant(std::string name, TensorSpec spec,
                                   std::span<const std::byte> bytes) {
  if (bytes.size() != spec.bytes() || bytes.empty())
    return InvalidInput("wrong number of bytes for a constant of shape {}", spec.shape)
        .At("{}", name)
        .Want("{}", spec.bytes())
        .Got("{}", bytes.size());
  return NewTensor(std::move(name), abi::TensorType::kStatic, std::move(spec), bytes);
}

Result<Ref> GraphBuilder::NewTensor(std::string name, abi::TensorType type, TensorSpec spec,
                                    std::span<const std::byte> bytes) {
  if (!names_.insert(name).second)
    return InvalidInput("graph '{}' has two tensors named '{}'", name_, name);
  TRY(CheckQuant(spec, name));
  if (spec.bytes() > UINT32_MAX)
    return Unsupported("tensor '{}' is larger than 4 GiB", name)
        .Remedy("Use more, smaller shards.");
  Note("adding", "tensor", name);
  RecentLog().Clear();
  Entry& entry = entries_.emplace_back(Entry{std::move(name), std::move(spec), type, 0, {}, {}});
  for (int64_t dim : entry.spec.shape.dims()) entry.dims.push_back(static_cast<uint32_t>(dim));
  abi::Tensor tensor = AbiTensor(entry);
  if (!bytes.empty())  // read, never written
    tensor.v1.buffer = {const_cast<std::byte*>(bytes.data()), static_cast<uint32_t>(bytes.size())};
  const abi::Status status = context_->fn().TensorCreateGraphTensor(graph_, &tensor);
  if (status != 0)
    return VendorFailure(status, fmt::format("tensor '{}' ({} {}) was refused", entry.name,
                                             DataTypeName(entry.spec.type), entry.spec.shape));
  entry.id = tensor.v1.id;
  return Ref{static_cast<int32_t>(entries_.size() - 1)};
}

abi::Tensor GraphBuilder::AbiTensor(Entry& entry) const {
  abi::Tensor tensor;
  tensor.v1.id = entry.id;
  tensor.v1.name = entry.name.c_str();
  tensor.v1.type = entry.type;
  tensor.v1.data_type = entry.spec.type;
  tensor.v1.quant = ToQuantizeParams(entry.spec.quant, &entry.expansion);
  tensor.v1.rank = static_cast<uint32_t>(entry.dims.size());
  tensor.v1.dims = entry.dims.data();
  return tensor;
}

Result<void> GraphBuilder::SetParams(const NodeSpec& node, std::vector<abi::Param>& params) {
  for (const Param& param : node.params) {
    const auto* array = std::get_if<IntArray>(&param.value);
    if (!array) {
      params.push_back(ScalarParam(param));
      continue;
    }
    const Ref ref =
        TRY(Constant(node.name + "." + param.name, {array->type, array->shape, {}}, array->values));
    abi::Param& out = params.emplace_back();
    out.kind = abi::ParamKind::kTensor;
    out.name = param.name;
    out.tensor = AbiTensor(entries_[ref.index]);
    // Small arrays are handed over with their values, as at creation.
    out.tensor.v1.buffer = {const_cast<int32_t*>(array->values.data()),
                            static_cast<uint32_t>(array->values.size() * sizeof(int32_t))};
  }
  return {};
}

Result<Ref> GraphBuilder::Add(NodeSpec node) {
  std::vector<abi::Param> params;
  TRY(SetParams(node, params));
  std::vector<abi::Tensor> inputs;
  for (Ref input : node.inputs) {
    CHECK(input.valid() && static_cast<size_t>(input.index) < entries_.size());
    inputs.push_back(AbiTensor(entries_[input.index]));
  }
  const Ref out =
      node.into.valid()
          ? node.into
          : TRY(NewTensor(node.name + ":0", abi::TensorType::kNative, std::move(node.out), {}));
  const abi::Tensor output = AbiTensor(entries_[out.index]);
  abi::OpConfig op;
  op.name = node.name.c_str();
  op.type = node.type;
  op.num_params = static_cast<uint32_t>(params.size());
  op.params = params.data();
  op.num_inputs = static_cast<uint32_t>(inputs.size());
  op.inputs = inputs.data();
  op.num_outputs = 1;
  op.outputs = &output;
  TRY(AddNode(node, op));
  for (Ref input : node.inputs) ForgetBlockScales(entries_[input.index].spec.quant);
  return out;
}

// Validation is final: adding an op that failed it can succeed and crash the process later.
Result<void> GraphBuilder::AddNode(const NodeSpec& node, const abi::OpConfig& op) {
  Note("adding", node.type, node.name);
  RecentLog().Clear();
  const abi::Functions& fn = context_->fn();
  abi::Status status = fn.BackendValidateOpConfig(context_->device().backend(), op);
  if (status == 0) status = fn.GraphAddNode(graph_, op);
  if (status == 0) return {};
  return VendorFailure(status,
                       fmt::format("{} '{}' cannot run on this target", node.type, node.name));
}

const TensorSpec& GraphBuilder::spec(Ref ref) const {
  CHECK(ref.valid() && static_cast<size_t>(ref.index) < entries_.size());
  return entries_[ref.index].spec;
}

Result<CompiledGraph> GraphBuilder::Finalize() && {
  StdoutSilencer silence;
  Note("finalising", "graph", name_);
  RecentLog().Clear();
  const abi::Status status = context_->fn().GraphFinalize(graph_, nullptr, nullptr);
  if (status != 0) return VendorFailure(status, fmt::format("cannot compile graph '{}'", name_));
  auto infos = [&](const std::vector<Ref>& refs) {
    std::vector<TensorInfo> list;
    for (Ref ref : refs) {
      Entry& entry = entries_[ref.index];
      list.push_back({std::move(entry.name), entry.id, std::move(entry.spec)});
    }
    return list;
  };
  return CompiledGraph(std::move(context_), graph_, std::move(name_), infos(inputs_),
                       infos(outputs_));
}

void GraphBuilder::Note(std::string_view doing, std::string_view type,
                        std::string_view name) const {
  if (options_.activity) options_.activity->Set(doing, type, name);
}

}  // namespace hexlane::qnn
