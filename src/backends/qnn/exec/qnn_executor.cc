// Runs a part's context binaries: on a phone's HTP, or on the workstation's emulator.
#include <algorithm>
#include <chrono>
#include <mutex>

#include "backends/executor_check.h"
#include "backends/executors.h"
#include "backends/qnn/driver/phone_files.h"
#include "backends/qnn/driver/power.h"
#include "backends/qnn/driver/values.h"
#include "backends/qnn/driver/versions.h"
#include "backends/qnn/exec/kv_cache.h"
#include "backends/qnn/io/stage_io.h"
#include "target/device.h"

namespace hexlane {
namespace {

using qnn::BoundTensor;
using qnn::CacheTensor;
using qnn::CompiledGraph;
using qnn::Contract;
using qnn::GraphContract;
using qnn::Role;
using qnn::StageIo;

class Stopwatch {
 public:
  // Seconds since the last call or the start.
  double Lap() {
    const auto now = std::chrono::steady_clock::now();
    return std::chrono::duration<double>(now - std::exchange(last_, now)).count();
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

// One cache tensor and where each stage reads and writes it.
struct Cache {
  CacheTensor tensor;
  Role past_role;
  Role new_role;
  int index;
};

class QnnState : public ExecutorState {
 public:
  QnnState(const Contract& contract) {
    for (const GraphContract& graph : contract.graphs) ios_.emplace_back(contract, graph);
    int64_t capacity = 0;
    for (const GraphContract& graph : contract.graphs)
      capacity = std::max<int64_t>(capacity, graph.past());
    for (const BoundTensor& tensor : contract.graphs[0].outputs) AddCache(tensor, capacity);
  }

  StageIo& io(size_t graph) { return ios_[graph]; }

  // Makes a stage's cache inputs show the first past_len positions.
  void BindCaches(StageIo& io, int64_t past_len) {
    const GraphContract& graph = io.graph();
    for (size_t i = 0; i < graph.inputs.size(); ++i) {
      const Cache* cache = Find(graph.inputs[i], &Cache::past_role);
      if (!cache) continue;
      if (cache->tensor.capacity() == graph.past())
        io.BindInput(i, cache->tensor.bytes());
      else
        cache->tensor.CopyTo(io.input(i), graph.past(), past_len);
    }
  }

  void StoreNew(const StageIo& io, int64_t past_len, int rows) {
    const GraphContract& graph = io.graph();
    for (size_t i = 0; i < graph.outputs.size(); ++i)
      if (Cache* cache = Find(graph.outputs[i], &Cache::new_role))
        cache->tensor.Store(io.output(i), graph.rows, past_len, rows);
  }

 private:
  void AddCache(const BoundTensor& tensor, int64_t capacity) {
    if (tensor.role != Role::kNewKey && tensor.role != Role::kNewValue) return;
    const bool keys = tensor.role == Role::kNewKey;
    const qnn::TensorSpec& spec = tensor.info.spec;
    const float zero[] = {0};
    caches_.push_back({CacheTensor({.keys = keys,
                                    .heads = spec.shape[0],
                                    .head_dim = spec.shape[keys ? 2 : 3],
                                    .element_bytes = qnn::ElementBytes(spec.type)},
                                   capacity, qnn::Encoded(spec, zero)),
                       keys ? Role::kPastKey : Role::kPastValue, tensor.role, tensor.index});
  }

  Cache* Find(const BoundTensor& tensor, Role Cache::* role) {
    for (Cache& cache : caches_)
      if (cache.*role == tensor.role && cache.index == tensor.index) return &cache;
    return nullptr;
  }

  std::vector<StageIo> ios_;  // one per graph of the contract
  std::vector<Cache> caches_;
};

// What is on the device: gone after Release, and back with the next run.
struct OnDevice {
  std::vector<CompiledGraph> graphs;  // in the contract's order
  Result<std::unique_ptr<qnn::HtpPower>> power;
};

Result<OnDevice> PutOnDevice(const LoadArgs& args, const Contract& contract);

class QnnExecutor : public Executor {
 public:
  QnnExecutor(const LoadArgs& args, Contract contract, OnDevice on_device)
      : args_(args),
        model_(args.package->plan().model),
        variant_(*args.variant),
        part_(*args.part),
        contract_(std::move(contract)),
        on_device_(std::move(on_device)) {
    args_.variant = &variant_;
    args_.part = &part_;
  }

  Result<std::unique_ptr<ExecutorState>> NewState() const override {
    return std::make_unique<QnnState>(contract_);
  }

  Result<void> SetPowerMode(PowerMode mode) const override {
    const std::lock_guard lock(mutex_);
    mode_ = mode;
    return Vote();
  }

  void Release() const override {
    const std::lock_guard lock(mutex_);
    on_device_.reset();
  }

  Result<void> Run(ExecutorState& state, const RunArgs& args) const override {
    TRY(CheckRunArgs(model_, variant_, part_, args));
    if (!on_device_) TRY(PutBack());
    auto& own = static_cast<QnnState&>(state);
    const size_t index = TRY(FindGraph(args));
    StageIo& io = own.io(index);
    Stopwatch watch;
    TRY(io.Fill({.rows = args.rows, .past_len = args.past_len, .hidden = args.input}));
    own.BindCaches(io, args.past_len);
    double copy = watch.Lap();
    TRY(io.Execute(on_device_->graphs[index]));
    const double execute = watch.Lap();
    TRY(ReadOutput(io, args));
    own.StoreNew(io, args.past_len, args.rows);
    if (args.observer) ShowTaps(io, args);
    copy += watch.Lap();
    if (args.times) {
      args.times->copy += copy;
      args.times->execute += execute;
    }
    return {};
  }

 private:
  Result<void> PutBack() const {
    OnDevice on_device = TRY(PutOnDevice(args_, contract_));
    const std::lock_guard lock(mutex_);
    on_device_ = std::move(on_device);
    (void)Vote();
    return {};
  }

  Result<void> Vote() const {
    if (!on_device_) return {};  // later, when there is something to run
    if (!on_device_->power) return Failure(on_device_->power.error());
    return (*on_device_->power)->Set(mode_);
  }

  Result<size_t> FindGraph(const RunArgs& args) const {
    for (size_t i = 0; i < contract_.graphs.size(); ++i)
      if (contract_.graphs[i].name == args.stage.name()) return i;
    return Corrupt("the part was not compiled for stage {}", args.stage.name())
        .At("{}", part_.contract);
  }

  Result<void> ReadOutput(const StageIo& io, const RunArgs& args) const {
    const std::optional<size_t> main = io.main_output();
    if (!main) return {};
    const BoundTensor& tensor = io.graph().outputs[*main];
    const Shape& shape = tensor.info.spec.shape;
    const bool logits = tensor.role == Role::kLogits;
    const bool every_row = shape[2] == io.graph().rows;
    if (logits && args.all_logits && !every_row && args.rows > 1)
      return Unsupported("the HTP graph computes the logits of the last row only")
          .Remedy("Convert again with --all-logits.");
    const bool last_only = logits && !args.all_logits;
    if (!last_only || !every_row) {
      io.Read(*main, last_only ? 1 : args.rows, args.output);
      return {};
    }
    std::vector<float> all(static_cast<size_t>(args.rows * shape.last()));
    io.Read(*main, args.rows, all);
    std::copy(all.end() - shape.last(), all.end(), args.output.begin());
    return {};
  }

  void ShowTaps(const StageIo& io, const RunArgs& args) const {
    for (size_t i = 0; i < io.graph().outputs.size(); ++i) {
      const BoundTensor& tensor = io.graph().outputs[i];
      if (tensor.value.empty()) continue;
      const Shape& shape = tensor.info.spec.shape;
      const int rows = std::min<int>(args.rows, static_cast<int>(shape[2]));
      std::vector<float> values(static_cast<size_t>(rows * shape.last()));
      io.Read(i, rows, values);
      (*args.observer)(tensor.value, values);
    }
  }

  LoadArgs args_;
  ModelShape model_;
  Variant variant_;
  Part part_;
  Contract contract_;
  // Run and Release are one at a time, so Run reads without the lock, which is for the votes.
  mutable std::mutex mutex_;
  mutable std::optional<OnDevice> on_device_;
  mutable PowerMode mode_ = PowerMode::kReleased;
};

// Opens every file of the part once and finds its graphs in it.
Result<std::vector<CompiledGraph>> LoadGraphs(const LoadArgs& args, const Contract& contract,
                                              const std::shared_ptr<const qnn::Device>& device) {
  std::map<std::string, std::shared_ptr<const qnn::Context>> contexts;
  std::vector<CompiledGraph> graphs;
  for (const GraphContract& graph : contract.graphs) {
    auto& context = contexts[graph.file];
    if (!context) {
      const std::filesystem::path path = TRY(args.package->PathOf(graph.file));
      const auto file = TRY(MappedFile::Open(path));
      context = TRY(qnn::Context::Load(device, file->bytes()));
    }
    std::vector<qnn::TensorInfo> inputs, outputs;
    for (const BoundTensor& tensor : graph.inputs) inputs.push_back(tensor.info);
    for (const BoundTensor& tensor : graph.outputs) outputs.push_back(tensor.info);
    graphs.push_back(TRY(CompiledGraph::Retrieve(context, graph.name, inputs, outputs)));
  }
  return graphs;
}

// Libraries, device and binaries, in the order that a phone needs (docs/device.md).
Result<std::shared_ptr<const qnn::Device>> OpenDevice(const LoadArgs& args, uint32_t soc) {
  const std::filesystem::path path = TRY(qnn::FindLibrary(args.vendor_library));
  const std::filesystem::path folder = path.parent_path();
  const DeviceSoc here = DetectSoc();
  const int arch = here.target ? static_cast<int>(here.target->arch) : 0;
  TRY(qnn::CheckStub(folder, arch));
  qnn::SetSkelSearchPath(args.skel_dir, folder);
  const auto library = TRY(qnn::Library::Open(path));
  const auto& vendor = args.package->manifest().vendor;
  if (const auto made_with = vendor.find("qnn_htp"); made_with != vendor.end())
    TRY(qnn::CheckMadeWith(made_with->second, library->backend_version()));
  return qnn::Device::Create(library, soc, qnn::ArchOrder(qnn::StubsIn(folder), arch));
}

Result<OnDevice> PutOnDevice(const LoadArgs& args, const Contract& contract) {
  const auto device = TRY(OpenDevice(args, contract.soc));
  auto power = qnn::HtpPower::Create(device);
  if (power) (void)(*power)->Set(PowerMode::kPowerSaver);  // loading waits for storage, not for HTP
  std::vector<CompiledGraph> graphs = TRY(LoadGraphs(args, contract, device));
  if (power) (void)(*power)->Set(PowerMode::kReleased);
  return OnDevice{std::move(graphs), std::move(power)};
}

}  // namespace

Result<std::unique_ptr<Executor>> LoadQnnExecutor(const LoadArgs& args) {
#if defined(__x86_64__)
  // The library would try, and crash on weights that several graphs share.
  if (!args.variant->name.ends_with("-emulator")) {
    return Environment("this machine has no Hexagon NPU, which variant '{}' is for",
                       args.variant->name)
        .Remedy(
            "Use the CPU here, or convert with --emulator to run Qualcomm's emulator of the NPU");
  }
#endif
  const std::string text = TRY(args.package->ReadText(args.part->contract));
  Contract contract =
      TRY(qnn::ContractFromJson(TRY(ParseJson(text, args.part->contract)), args.part->contract));
  if (contract.graphs.empty())
    return Corrupt("contract without graphs").At("{}", args.part->contract);
  OnDevice on_device = TRY(PutOnDevice(args, contract));
  return std::make_unique<QnnExecutor>(args, std::move(contract), std::move(on_device));
}

}  // namespace hexlane
