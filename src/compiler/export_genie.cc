// A package as a folder for Qualcomm's Genie: the quantised units are compiled again, with the
// embedding inside and logits of every row, and described by the two configuration files.
#include <algorithm>
#include <chrono>

#include "base/file.h"
#include "compiler/fingerprint.h"
#include "compiler/genie_config.h"
#include "compiler/partition.h"
#include "compiler/parts.h"
#include "compiler/source.h"
#include "hexlane/compiler.h"
#include "models/decoder.h"
#include "package/manifest.h"
#include "quant/schemes.h"
#include "runtime/variants.h"

namespace hexlane {
namespace fs = std::filesystem;
namespace {

// Units that go into one binary for each stage, or one for all.
struct Split {
  int first = 0;
  int count = 0;
  size_t memory_bytes = 0;  // of compiling
};

// What the manifest says: 16-bit integer activations and an 8-bit cache are what Genie takes.
Result<void> CheckScheme(const Manifest& manifest, const std::string& where) {
  const QuantScheme* scheme = TRY(FindQuantScheme(manifest.scheme));
  if (scheme->activations == DType::kU16 && manifest.kv_bits == 8) return {};
  return InvalidInput("Genie cannot run this package")
      .At("{}", where)
      .Want("scheme w4a16 or w8a16 with an 8-bit cache")
      .Got("{} with a {}-bit cache", manifest.scheme, manifest.kv_bits)
      .Remedy("Convert with: hexlane convert {} --quant {} --kv 8 --soc SM8650", manifest.source,
              scheme->activations == DType::kU16 ? manifest.scheme : "w4a16");
}

// The variant for phones with this SoC.
Result<const Variant*> FindVariant(const Package& package, const std::string& soc) {
  for (const Variant& variant : package.plan().variants)
    if (IsNpu(variant) && (soc.empty() || soc == variant.soc)) return &variant;
  if (!soc.empty()) TRY(FindTarget(soc));
  return InvalidInput("the package has no {} variant", soc.empty() ? "NPU" : soc)
      .At("{}", package.directory().string())
      .Remedy("Convert with --soc {}", soc.empty() ? "SM8650" : soc);
}

// Genie goes wrong from the first chunk of a prompt to the next graph when half of the cache is
// new rows (seen with 2.51).
Result<std::vector<StageShape>> ChooseStages(const ExportOptions& options, const Package& package,
                                             const Variant& variant) {
  const StageShape& widest = variant.stages.back();
  const int context = options.context != 0 ? options.context : widest.context;
  const int rows = options.prefill_rows != 0 ? options.prefill_rows : widest.rows;
  if (context > package.plan().model.max_context) {
    return InvalidInput("a context of {} is longer than the model was trained for", context)
        .Want("at most {}", package.plan().model.max_context);
  }
  if (rows < 1 || context <= rows)
    return Usage("a context of {} cannot hold {} prefill rows", context, rows)
        .Want("1 ≤ prefill rows < context");
  if (2 * rows == context) {
    return Usage(
               "Genie loses the cache between prompt and answer with {} prefill rows and a "
               "context of {}",
               rows, context)
        .Want("prefill rows that are not half of the context")
        .Remedy("Export with --prefill-rows {}", std::max(1, rows / 2));
  }
  if (rows == 1) return std::vector<StageShape>{{1, context}};
  return std::vector<StageShape>{{1, context}, {rows, context}};
}

// Genie (2.51) crashes on a binary without a cache, but for the embedding's: a head alone gets the
// layer before it.
void JoinHead(std::vector<Split>& splits) {
  if (splits.size() < 3 || splits.back().count > 1) return;
  Split& before = splits[splits.size() - 2];
  Split& head = splits.back();
  head.memory_bytes += before.memory_bytes / static_cast<size_t>(before.count);
  --head.first, ++head.count;
  if (--before.count == 0) splits.erase(splits.end() - 2);
}

// The shards; the embedding is one of its own, or goes with the rest where that is whole.
std::vector<Split> ChooseSplits(const Partition& partition) {
  std::vector<Split> splits;
  for (const UnitRun& run : partition.runs)
    splits.push_back({run.first, run.count, run.cost.memory_bytes});
  JoinHead(splits);
  if (splits.size() != 2 || partition.runs.front().backend == partition.runs.back().backend)
    return splits;
  splits[1].first = 0;
  splits[1].count += splits[0].count;
  return {splits[1]};
}

// What an earlier export wrote: the texts and model_001_of_002….bin.
Result<std::vector<std::string>> ListEarlier(const fs::path& folder) {
  TRY(ReadTextFile(folder / kGenieConfigFile));
  std::vector<std::string> names = {std::string(kGenieConfigFile), std::string(kHtpConfigFile),
                                    "tokenizer.json"};
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (name.starts_with("model_") && name.find("_of_") != name.npos && name.ends_with(".bin"))
      names.push_back(name);
  }
  return names;
}

class GenieExporter {
 public:
  explicit GenieExporter(const ExportOptions& options) : options_(options) {}

  Result<ExportReport> Run() {
    const auto start = std::chrono::steady_clock::now();
    package_ = TRY(OpenPackage(options_.package));
    const std::string where = package_->directory().string();
    TRY(CheckScheme(package_->manifest(), where));
    const Variant* variant = TRY(FindVariant(*package_, options_.soc));
    target_ = TRY(FindTarget(variant->soc));
    stages_ = TRY(ChooseStages(options_, *package_, *variant));
    TRY(ReadModel());
    const Partition partition = TRY(Partitioned());
    splits_ = ChooseSplits(partition);
    const std::string key = TRY(Key());
    StagedDirectory staged = TRY(StagedDirectory::Create(
        options_.output, {.earlier = ListEarlier, .inputs = {where}, .key = key}));
    const Journal journal(staged.path());
    Result<void> compiled = Compile(staged.path(), partition.memory, journal);
    if (!compiled && compiled.error().code == Code::kVendor) staged.Keep();
    TRY(std::move(compiled));
    TRY(WriteTexts(staged.path()));
    journal.Remove();
    FileNames names(config_.binaries.begin(), config_.binaries.end());
    names.insert({std::string(kGenieConfigFile), std::string(kHtpConfigFile), "tokenizer.json"});
    TRY(RemoveOthers(staged.path(), names));
    TRY(staged.Commit());
    TRY(Report());
    report_.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return std::move(report_);
  }

 private:
  // What the configuration needs to know, and whether Genie can run the model at all.
  Result<void> ReadModel() {
    const std::unique_ptr<Tokenizer> tokenizer = TRY(OpenTokenizer(package_->directory()));
    config_.vocab = package_->plan().model.vocab;
    config_.context = stages_.back().context;
    config_.head_dim = package_->plan().model.head_dim;
    config_.eos_ids = package_->plan().model.eos_ids;
    config_.target = target_;
    config_.emulator = options_.emulator;
    if (!tokenizer->prefix_ids().empty()) config_.bos_id = tokenizer->prefix_ids().front();
    if (config_.eos_ids.empty() && tokenizer->eos_id()) config_.eos_ids = {*tokenizer->eos_id()};
    if (config_.eos_ids.empty()) {
      return InvalidInput("the model has no end-of-sequence token, which Genie wants")
          .At("{}", package_->directory().string())
          .Remedy("Convert a checkpoint with an eos_token_id in its config.json");
    }
    const UnitSource units = UnitsOf(package_);
    for (int unit = 0; unit < units.count; ++unit)
      TRY(ReadPositions(TRY(units.load(unit)), config_));
    return {};
  }

  // Genie has the NPU only.
  Result<Partition> Partitioned() const {
    Partition partition =
        TRY(PartitionUnits(UnitsOf(package_), {.backend = "qnn",
                                               .target = target_,
                                               .stage_count = stages_.size(),
                                               .memory = MemoryForParts(options_.memory)}));
    if (partition.refusals.empty()) return partition;
    const Refusal& refusal = partition.refusals.front();
    return Unsupported("{} {} cannot run on the NPU", refusal.op, refusal.node)
        .At("{}", package_->directory().string())
        .Got("{}", refusal.reason)
        .Remedy("Choose another --soc, or convert with another --quant");
  }

  // Of everything that the folder's content depends on.
  Result<std::string> Key() const {
    Json key = {{"version", HEXLANE_VERSION},
                {"package", TRY(Sha256File(package_->directory() / kManifestFile))},
                {"soc", target_->name},
                {"emulator", options_.emulator},
                {"stages", Json::array()},
                {"splits", Json::array()}};
    for (const StageShape& stage : stages_) key["stages"].push_back({stage.rows, stage.context});
    for (const Split& split : splits_) key["splits"].push_back(split.count);
    return KeyOf(key);
  }

  // 1-of-2.bin, 2-of-2.bin; without shared weights one file per stage, 1-of-2-r1c512.bin, …
  EmitArgs ArgsFor(size_t split, const fs::path& directory) const {
    EmitArgs args{.units = UnitsOf(package_),
                  .first_unit = splits_[split].first,
                  .unit_count = splits_[split].count,
                  .stages = stages_,
                  .target = target_,
                  .share_weights = !options_.emulator,
                  .all_logits = true,
                  .common_masks = true,
                  .directory = directory};
    // Genie runs the graphs of one shape in the order of their names.
    args.graph_suffix = fmt::format("_{:03}_of_{:03}", split + 1, splits_.size());
    args.stem = fmt::format("model_{:03}_of_{:03}", split + 1, splits_.size());
    args.vendor_library = options_.vendor_library;
    return args;
  }

  // In at most `memory` bytes at a time.
  Result<void> Compile(const fs::path& directory, size_t memory, const Journal& journal) {
    std::vector<PartTask> tasks;
    for (size_t i = 0; i < splits_.size(); ++i)
      tasks.push_back({"qnn", ArgsFor(i, directory), splits_[i].memory_bytes});
    const std::vector<EmitResult> results =
        TRY(EmitParts(std::move(tasks), {.memory = memory,
                                         .limit = MemoryForParts(options_.memory),
                                         .journal = &journal,
                                         .progress = options_.progress}));
    for (const EmitResult& emitted : results) {
      config_.binaries.insert(config_.binaries.end(), emitted.files.begin(), emitted.files.end());
      std::error_code ignored;  // describes the tensors for our own executor only
      fs::remove(directory / emitted.contract, ignored);
    }
    return {};
  }

  Result<void> WriteTexts(const fs::path& directory) const {
    TRY(WriteFileAtomically(directory / kGenieConfigFile, GenieConfigText(config_)));
    TRY(WriteFileAtomically(directory / kHtpConfigFile, HtpConfigText(config_)));
    return WriteFileAtomically(directory / "tokenizer.json",
                               TRY(package_->ReadText("tokenizer.json")));
  }

  Result<void> Report() {
    report_.soc = target_->name;
    report_.context = stages_.back().context;
    for (const StageShape& stage : stages_) report_.rows.push_back(stage.rows);
    report_.files = FilesOf(options_.output);
    return {};
  }

  const ExportOptions& options_;
  std::shared_ptr<const Package> package_;
  const Target* target_ = nullptr;
  std::vector<StageShape> stages_;
  std::vector<Split> splits_;
  GenieConfig config_;
  ExportReport report_;
};

}  // namespace

Result<ExportReport> ExportGenie(const ExportOptions& options) {
  return GenieExporter(options).Run();
}

}  // namespace hexlane
