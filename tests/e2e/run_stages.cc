#include "run_stages.h"

#include <algorithm>
#include <random>

#include "backends/qnn/driver/values.h"
#include "backends/qnn/io/stage_io.h"
#include "package/package.h"

namespace hexlane::e2e {
namespace fs = std::filesystem;
namespace {

constexpr float kRange = 4;  // of the random values; 8-bit caches saturate at some of them

std::vector<float> Random(size_t count, std::mt19937& random) {
  std::uniform_real_distribution<float> uniform(-kRange, kRange);
  std::vector<float> values(count);
  for (float& value : values) value = uniform(random);
  return values;
}

Result<void> FillInputs(qnn::StageIo& io, std::mt19937& random) {
  const qnn::GraphContract& graph = io.graph();
  std::vector<float> hidden;
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    const auto& [role, index, value, info] = graph.inputs[i];
    const auto elements = static_cast<size_t>(info.spec.shape.elements());
    if (role == qnn::Role::kHidden) hidden = Random(elements, random);
    if (role == qnn::Role::kPastKey || role == qnn::Role::kPastValue)
      qnn::EncodeValues(info.spec, Random(elements, random), io.input(i));
  }
  return io.Fill({.rows = graph.rows, .past_len = graph.past() / 2, .hidden = hidden});
}

Result<void> WriteRaw(const fs::path& path, std::span<const std::byte> bytes) {
  fs::create_directories(path.parent_path());
  FileWriter writer = TRY(FileWriter::Create(path));
  TRY(writer.Write(bytes));
  return writer.Close();
}

Result<void> RunStage(const qnn::Contract& contract, const qnn::GraphContract& graph,
                      qnn::CompiledGraph& compiled, const fs::path& folder) {
  qnn::StageIo io(contract, graph);
  std::mt19937 random(static_cast<uint32_t>(graph.rows));
  TRY(FillInputs(io, random));
  TRY(io.Execute(compiled));
  for (size_t i = 0; i < graph.inputs.size(); ++i)
    TRY(WriteRaw(folder / "in" / graph.inputs[i].info.name, io.input(i)));
  for (size_t i = 0; i < graph.outputs.size(); ++i)
    TRY(WriteRaw(folder / "out" / graph.outputs[i].info.name, io.output(i)));
  return {};
}

Result<qnn::CompiledGraph> Load(const Package& package, const qnn::GraphContract& graph,
                                const std::shared_ptr<const qnn::Device>& device) {
  const auto binary = TRY(MappedFile::Open(TRY(package.PathOf(graph.file))));
  std::vector<qnn::TensorInfo> inputs, outputs;
  for (const qnn::BoundTensor& tensor : graph.inputs) inputs.push_back(tensor.info);
  for (const qnn::BoundTensor& tensor : graph.outputs) outputs.push_back(tensor.info);
  return qnn::CompiledGraph::Retrieve(TRY(qnn::Context::Load(device, binary->bytes())), graph.name,
                                      inputs, outputs);
}

Result<void> RunPart(const Package& package, const Part& part, const RunStagesOptions& options,
                     const fs::path& output) {
  const std::string text = TRY(package.ReadText(part.contract));
  const qnn::Contract contract =
      TRY(qnn::ContractFromJson(TRY(ParseJson(text, part.contract)), part.contract));
  const auto library = TRY(qnn::Library::Open(options.library));
  const auto device = TRY(qnn::Device::Create(library, contract.soc));
  for (const qnn::GraphContract& graph : contract.graphs) {
    if (graph.rows > options.max_rows) continue;
    qnn::CompiledGraph compiled = TRY(Load(package, graph, device));
    const std::string name = fs::path(part.contract).stem().string() + "." + graph.name;
    TRY(RunStage(contract, graph, compiled, output / name));
  }
  return {};
}

}  // namespace

Result<void> RunStages(const RunStagesOptions& options, const fs::path& output) {
  const auto package = TRY(Package::Open(options.package, {.check_files = false}));
  const Variant* variant = package->plan().Find(options.variant);
  if (!variant) return NotFound("no variant {}", options.variant);
  for (const Part& part : variant->parts)
    if (part.backend == "qnn") TRY(RunPart(*package, part, options, output));
  return {};
}

}  // namespace hexlane::e2e
