#include "backends/qnn/emit/part_compiler.h"

#include <algorithm>
#include <cstring>

#include "backends/qnn/driver/binary_info.h"
#include "backends/qnn/io/stage_io.h"
#include "base/file.h"
#include "base/memory.h"

namespace hexlane::qnn {
namespace {

// Share of a stage's time that lowering takes; the rest is the library's compiler.
constexpr double kLoweringShare = 0.4;

std::string VersionText(const abi::Version& version) {
  return fmt::format("{}.{}.{}", version.major, version.minor, version.patch);
}

// JSON header, a zero byte, then the probe's floats in the header's order.
std::string Pack(const EmitResult& result,
                 const std::map<std::string, std::vector<float>>& probed) {
  Json header = {{"files", result.files},
                 {"contract", result.contract},
                 {"versions", result.versions},
                 {"spill_fill_bytes", result.spill_fill_bytes.value_or(-1)},
                 {"probed", Json::array()}};
  std::string floats;
  for (const auto& [name, values] : probed) {
    header["probed"].push_back({name, values.size()});
    floats.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
  }
  return header.dump() + '\0' + floats;
}

// The largest spill-fill buffer of a binary's graphs, as it says itself.
Result<int64_t> SpillFillBytes(const std::filesystem::path& htp_library,
                               const std::filesystem::path& binary) {
  const auto system = TRY(SystemLibrary::Open(SystemLibraryBeside(htp_library)));
  const auto file = TRY(MappedFile::Open(binary));
  const BinaryInfo info = TRY(ReadBinaryInfo(*system, file->bytes(), binary.string()));
  uint64_t largest = 0;
  for (const GraphInfo& graph : info.graphs) largest = std::max(largest, graph.spill_fill_bytes);
  return static_cast<int64_t>(largest);
}

}  // namespace

Result<EmitResult> UnpackCompiled(const std::string& payload, Probe* probe) {
  const size_t end = std::min(payload.find('\0'), payload.size());
  const Json header = TRY(ParseJson(std::string_view(payload).substr(0, end), "compiler's result"));
  EmitResult result;
  result.files = header.at("files").get<std::vector<std::string>>();
  result.contract = header.at("contract").get<std::string>();
  result.versions = header.at("versions").get<std::map<std::string, std::string>>();
  const auto spill_fill = header.at("spill_fill_bytes").get<int64_t>();
  if (spill_fill >= 0) result.spill_fill_bytes = spill_fill;
  size_t at = end + 1;
  for (const Json& entry : header.at("probed")) {
    std::vector<float> values(entry.at(1).get<size_t>());
    CHECK(at + values.size() * sizeof(float) <= payload.size());
    std::memcpy(values.data(), payload.data() + at, values.size() * sizeof(float));
    at += values.size() * sizeof(float);
    if (probe) probe->outputs[entry.at(0).get<std::string>()] = std::move(values);
  }
  return result;
}

Result<std::string> PartCompiler::Run() {
  child_.activity().Set("loading", "library", library_path_.string());
  auto library = TRY(Library::Open(library_path_));
  result_.versions = {{"qnn_core", VersionText(library->core_version())},
                      {"qnn_htp", VersionText(library->backend_version())},
                      {"qnn_build", library->build_id()}};
  auto device = TRY(Device::Create(library, static_cast<uint32_t>(args_.target->soc_id)));
  contract_.soc = static_cast<uint32_t>(args_.target->soc_id);
  mask_depth_ = TRY(DeepestMask());

  const bool one_file = args_.share_weights || args_.stages.size() == 1;
  const ContextOptions options{.share_weights = one_file && args_.stages.size() > 1};
  std::shared_ptr<const Context> context;
  for (size_t stage = 0; stage < args_.stages.size(); ++stage) {
    if (!context || !one_file) context = TRY(Context::Create(device, options));
    TRY(CompileStage(context, stage));
    if (!one_file || stage + 1 == args_.stages.size()) TRY(WriteBinary(*context, FileOf(stage)));
  }
  result_.contract = args_.stem + ".json";
  TRY(WriteFileAtomically(args_.directory / result_.contract, ToJson(contract_).dump(1)));
  return Pack(result_, probed_);
}

std::string PartCompiler::FileOf(size_t stage) const {
  if (args_.share_weights || args_.stages.size() == 1) return args_.stem + ".bin";
  return fmt::format("{}-{}.bin", args_.stem, args_.stages[stage].name());
}

Result<void> PartCompiler::CompileStage(const std::shared_ptr<const Context>& context,
                                        size_t stage) {
  GraphContract graph;
  graph.name = args_.stages[stage].name() + args_.graph_suffix;
  graph.file = FileOf(stage);
  graph.rows = args_.stages[stage].rows;
  graph.context = args_.stages[stage].context;
  const StageOptions options{.shape = args_.stages[stage],
                             .all_logits = args_.all_logits,
                             .taps = args_.taps,
                             .mask_depth = mask_depth_};
  GraphOptions graph_options;
  graph_options.activity = &child_.activity();
  GraphBuilder builder = TRY(GraphBuilder::Create(context, graph.name, graph_options));
  Lowering lowering(builder, options, contract_, graph);
  TRY(LowerUnits(lowering, stage));
  child_.Progress((static_cast<double>(stage) + kLoweringShare) / args_.stages.size(),
                  "compiling " + graph.name);
  CompiledGraph compiled = TRY(std::move(builder).Finalize());
  for (size_t i = 0; i < graph.inputs.size(); ++i) graph.inputs[i].info = compiled.inputs()[i];
  for (size_t i = 0; i < graph.outputs.size(); ++i) graph.outputs[i].info = compiled.outputs()[i];
  if (args_.probe && args_.probe->stage == static_cast<int>(stage)) TRY(RunProbe(compiled, graph));
  contract_.graphs.push_back(std::move(graph));
  return {};
}

Result<void> PartCompiler::LowerUnits(Lowering& lowering, size_t stage) {
  for (int unit = 0; unit < args_.unit_count; ++unit) {
    const double done = kLoweringShare * unit / args_.unit_count;
    const Graph graph = TRY(LoadUnit(unit));
    child_.Progress((static_cast<double>(stage) + done) / args_.stages.size(),
                    "lowering " + graph.name());
    TRY(lowering.AddUnit(graph));
  }
  if (args_.units.drop_pages) args_.units.drop_pages();  // the library has its own copy
  return lowering.Finish();
}

Result<float> PartCompiler::DeepestMask() const {
  const int first = args_.common_masks ? 0 : args_.first_unit;
  const int count = args_.common_masks ? args_.units.count : args_.unit_count;
  float depth = 0;
  for (int unit = first; unit < first + count; ++unit)
    depth = std::max(depth, MaskDepth(TRY(args_.units.load(unit))));
  return depth;
}

Result<void> PartCompiler::WriteBinary(const Context& context, const std::string& file) {
  child_.activity().Set("writing", "binary", file);
  ReleaseFreeMemory();  // serialising is when memory peaks
  std::vector<std::byte> binary = TRY(context.Serialize());
  const std::filesystem::path path = args_.directory / file;
  std::error_code ignored;  // FileWriter reports what matters
  std::filesystem::create_directories(path.parent_path(), ignored);
  FileWriter writer = TRY(FileWriter::Create(path));
  TRY(writer.Write(binary));
  TRY(writer.Close());
  binary = {};
  AddSpillFill(path);
  result_.files.push_back(file);
  return {};
}

// Unknown where this version of libQnnSystem.so is missing or cannot be read: the binary is good
// nevertheless.
void PartCompiler::AddSpillFill(const std::filesystem::path& binary) {
  const Result<int64_t> bytes = SpillFillBytes(library_path_, binary);
  const bool known = bytes && (result_.files.empty() || result_.spill_fill_bytes);
  if (known)
    result_.spill_fill_bytes = result_.spill_fill_bytes.value_or(0) + *bytes;
  else
    result_.spill_fill_bytes.reset();
}

Result<void> PartCompiler::RunProbe(CompiledGraph& compiled, const GraphContract& graph) {
  child_.activity().Set("running", "graph", graph.name);
  const Probe& probe = *args_.probe;
  StageIo io(contract_, graph);
  TRY(io.Fill({.rows = probe.rows, .past_len = 0, .hidden = probe.input, .ids = probe.ids}));
  TRY(io.Execute(compiled));
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    const BoundTensor& tensor = graph.outputs[i];
    if (tensor.value.empty()) continue;
    const Shape& shape = tensor.info.spec.shape;
    const int rows = std::min<int>(probe.rows, static_cast<int>(shape[2]));
    std::vector<float>& values = probed_[tensor.value];
    values.resize(static_cast<size_t>(rows * shape.last()));
    io.Read(i, rows, values);
  }
  return {};
}

}  // namespace hexlane::qnn
