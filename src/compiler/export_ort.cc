// Package → a folder for ONNX Runtime: an EPContext model around every stage of the package's
// context binaries, which are copied as they are.
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <set>

#include "backends/qnn/driver/values.h"
#include "backends/qnn/io/contract.h"
#include "base/file.h"
#include "compiler/ep_context.h"
#include "compiler/source.h"
#include "hexlane/compiler.h"
#include "hexlane/interrupt.h"
#include "interp/decoder_run.h"
#include "runtime/variants.h"

namespace hexlane {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kIndexFile = "ort.json";
constexpr std::string_view kIndexFormat = "hexlane-ort";
constexpr const char* kTexts[] = {"tokenizer.json", "tokenizer_config.json",
                                  "generation_config.json"};
constexpr std::string_view kEmbeddingFile = "embedding.bin";
constexpr int kEmbeddingChunk = 2048;  // rows computed at once

using qnn::BoundTensor;
using qnn::Contract;
using qnn::DataType;
using qnn::GraphContract;

DType TypeOf(DataType type) {
  switch (type) {
    case DataType::kF16: return DType::kF16;
    case DataType::kI32: return DType::kI32;
    case DataType::kUFixed8: return DType::kU8;
    case DataType::kUFixed16: return DType::kU16;
    default: return DType::kF32;  // contracts have no others
  }
}

std::vector<EpContextTensor> Tensors(const std::vector<BoundTensor>& tensors) {
  std::vector<EpContextTensor> described;
  for (const BoundTensor& tensor : tensors)
    described.push_back({tensor.info.name, TypeOf(tensor.info.spec.type), tensor.info.spec.shape});
  return described;
}

std::string BaseName(std::string_view file) { return fs::path(file).filename().string(); }

bool IsQnn(const Part& part) { return part.backend == "qnn"; }

Result<const Variant*> ChooseVariant(const Package& package, const ExportOptions& options) {
  for (const Variant& variant : package.plan().variants)
    if (!variant.soc.empty() && IsEmulator(variant) == options.emulator &&
        (options.soc.empty() || options.soc == variant.soc) &&
        std::any_of(variant.parts.begin(), variant.parts.end(), IsQnn))
      return &variant;
  return InvalidInput("the package has no context binaries for {}{}",
                      options.soc.empty() ? "any NPU" : options.soc,
                      options.emulator ? "'s emulator" : "")
      .At("{}", package.directory().string())
      .Remedy("Convert with --soc {}{}", options.soc.empty() ? "SM8650" : options.soc,
              options.emulator ? " --emulator" : "");
}

// ONNX Runtime can look up embeddings from a table; a layer that runs on Hexlane's CPU kernels it
// cannot run.
Result<void> CheckParts(const Variant& variant) {
  for (const Part& part : variant.parts) {
    const bool embedding = part.first_unit == 0 && part.unit_count == 1;
    if (IsQnn(part) || embedding) continue;
    return Unsupported("units {} to {} of {} run on the CPU", part.first_unit,
                       part.first_unit + part.unit_count - 1, variant.name)
        .Want("everything but the embedding on the NPU")
        .Remedy("Convert with a scheme whose layers the SoC can run, e.g. --quant w8a16");
  }
  return {};
}

// What an earlier export wrote: the index, what it names, and the tokenizer's files.
Result<std::vector<std::string>> ListEarlier(const fs::path& folder) {
  const fs::path path = folder / kIndexFile;
  const Json index = TRY(ParseJson(TRY(ReadTextFile(path)), path.string()));
  if (TRY(JsonField<std::string>(index, "format", path.string())) != kIndexFormat)
    return Corrupt("not an export of Hexlane").At("{}", path.string());
  std::vector<std::string> names = {std::string(kIndexFile)};
  names.insert(names.end(), std::begin(kTexts), std::end(kTexts));
  const Json flat = index.flatten();
  for (const auto& [field, value] : flat.items())
    if (value.is_string()) names.push_back(value.get<std::string>());
  return names;
}

class OrtExporter {
 public:
  explicit OrtExporter(const ExportOptions& options) : options_(options) {}

  Result<ExportReport> Run() {
    const auto start = std::chrono::steady_clock::now();
    package_ = TRY(OpenPackage(options_.package));
    variant_ = TRY(ChooseVariant(*package_, options_));
    TRY(CheckParts(*variant_));
    StagedDirectory staged = TRY(StagedDirectory::Create(
        options_.output, {.earlier = ListEarlier, .inputs = {options_.package}}));
    directory_ = staged.path();
    TRY(WriteAll());
    report_.files = FilesOf(directory_);
    TRY(staged.Commit());
    report_.soc = variant_->soc;
    report_.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return std::move(report_);
  }

 private:
  Result<void> WriteAll() {
    Json parts = Json::array();
    Json embedding;
    for (const Part& part : variant_->parts) {
      if (!IsQnn(part)) continue;
      const Contract contract = TRY(ReadContract(part));
      if (part.first_unit == 1 && embedding.is_null()) embedding = TRY(WriteEmbedding(contract));
      parts.push_back(TRY(WritePart(part, contract)));
    }
    for (const char* file : kTexts)
      if (package_->Has(file)) TRY(CopyFile(file));
    const Json index = {{"format", kIndexFormat},
                        {"format_version", 1},
                        {"hexlane_version", HEXLANE_VERSION},
                        {"soc", variant_->soc},
                        {"emulator", options_.emulator},
                        {"qnn_version", SdkVersion()},
                        {"embedding", embedding},
                        {"parts", parts}};
    return WriteFileAtomically(directory_ / kIndexFile, index.dump(1) + "\n");
  }

  std::string SdkVersion() const {
    const auto& versions = package_->manifest().vendor;
    const auto found = versions.find("qnn_build");
    return found == versions.end() ? "" : found->second;
  }

  // The stages that are asked for.
  Result<Contract> ReadContract(const Part& part) const {
    Contract contract = TRY(qnn::ContractFromJson(
        TRY(ParseJson(TRY(package_->ReadText(part.contract)), part.contract)), part.contract));
    std::vector<std::string> names;
    for (const GraphContract& graph : contract.graphs) names.push_back(graph.name);
    std::erase_if(contract.graphs, [&](const GraphContract& graph) {
      return (options_.context > 0 && graph.context != options_.context) ||
             (options_.prefill_rows > 0 && graph.rows > 1 && graph.rows != options_.prefill_rows);
    });
    const bool has_rows = std::any_of(
        contract.graphs.begin(), contract.graphs.end(), [&](const GraphContract& graph) {
          return options_.prefill_rows == 0 || graph.rows == options_.prefill_rows;
        });
    if (has_rows) return contract;
    return InvalidInput("the package has no stage of that context and those prefill rows")
        .At("{}", part.contract)
        .Got("{}", fmt::join(names, ", "))
        .Remedy("Export without --context and --prefill-rows, or convert with them");
  }

  Result<Json> WritePart(const Part& part, Contract contract) {
    const std::string stem = fs::path(part.contract).stem().string();
    Json models = Json::array();
    for (GraphContract& graph : contract.graphs) {
      TRY(CheckInterrupt());
      TRY(CopyFile(graph.file));
      graph.file = BaseName(graph.file);
      const std::string file = fmt::format("{}.{}.onnx", stem, graph.name);
      TRY(WriteModel(file, graph));
      models.push_back({{"file", file},
                        {"graph", graph.name},
                        {"binary", graph.file},
                        {"rows", graph.rows},
                        {"context", graph.context}});
      Remember(graph);
    }
    const std::string name = stem + ".json";
    TRY(WriteFileAtomically(directory_ / name, ToJson(contract).dump(1)));
    return Json{
        {"input", part.input}, {"output", part.output}, {"contract", name}, {"models", models}};
  }

  Result<void> WriteModel(const std::string& file, const GraphContract& graph) const {
    const std::string onnx = TRY(EpContextOnnx({.graph = graph.name,
                                                .binary = graph.file,
                                                .sdk_version = SdkVersion(),
                                                .hardware = variant_->soc,
                                                .inputs = Tensors(graph.inputs),
                                                .outputs = Tensors(graph.outputs)}));
    return WriteFileAtomically(directory_ / file, onnx);
  }

  void Remember(const GraphContract& graph) {
    if (std::find(report_.rows.begin(), report_.rows.end(), graph.rows) == report_.rows.end())
      report_.rows.push_back(graph.rows);
    report_.context = std::max(report_.context, graph.context);
  }

  // Every token's row as the first part's hidden input takes it: a lookup is all that is left to
  // the caller.
  Result<Json> WriteEmbedding(const Contract& contract) {
    const auto& inputs = contract.graphs[0].inputs;
    const auto hidden = std::find_if(inputs.begin(), inputs.end(), [](const BoundTensor& input) {
      return input.role == qnn::Role::kHidden;
    });
    if (hidden == inputs.end())
      return Corrupt("no hidden state enters").At("graph {}", contract.graphs[0].name);
    const Graph unit = TRY(UnitsOf(package_).load(0));
    const int vocab = package_->plan().model.vocab;
    FileWriter writer = TRY(FileWriter::Create(directory_ / kEmbeddingFile));
    for (int first = 0; first < vocab; first += kEmbeddingChunk) {
      TRY(CheckInterrupt());
      std::vector<int32_t> ids;
      for (int id = first; id < std::min(vocab, first + kEmbeddingChunk); ++id) ids.push_back(id);
      DecoderRun run({ids});
      TRY(run.Advance(unit, {}));
      TRY(writer.Write(qnn::Encoded(hidden->info.spec, run.hidden(0))));
    }
    TRY(writer.Close());
    return Json{{"file", kEmbeddingFile},
                {"input", hidden->info.name},
                {"type", DTypeName(TypeOf(hidden->info.spec.type))},
                {"shape", {vocab, package_->plan().model.hidden}}};
  }

  // Once, however many stages share it.
  Result<void> CopyFile(const std::string& file) {
    const fs::path to = directory_ / BaseName(file);
    if (!copied_.insert(file).second) return {};
    if (fs::exists(to)) return Corrupt("two files are called '{}'", BaseName(file));
    std::error_code error;
    fs::copy_file(TRY(package_->PathOf(file)), to, error);
    if (error) return Io("cannot copy '{}'", file).Got("{}", error.message());
    return {};
  }

  const ExportOptions& options_;
  std::shared_ptr<const Package> package_;
  const Variant* variant_ = nullptr;
  fs::path directory_;
  std::set<std::string> copied_;
  ExportReport report_;
};

}  // namespace

Result<ExportReport> ExportOrt(const ExportOptions& options) { return OrtExporter(options).Run(); }

}  // namespace hexlane
