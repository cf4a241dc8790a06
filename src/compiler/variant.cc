#include "compiler/variant.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <numeric>
#include <optional>
#include <thread>

#include "backends/emitters.h"
#include "base/file.h"
#include "base/thread_pool.h"
#include "models/decoder.h"

namespace hexlane {
namespace {

EmitArgs ArgsFor(const VariantArgs& args, const UnitRun& run) {
  const bool preferred = run.backend == args.backend;
  EmitArgs emit{.units = args.units,
                .first_unit = run.first,
                .unit_count = run.count,
                .stages = args.stages,
                .target = preferred ? args.target : nullptr,
                .share_weights = args.share_weights,
                .all_logits = args.all_logits,
                .directory = args.directory,
                .stem = PartStem(args, run),
                .vendor_library = args.vendor_library,
                .progress = args.progress,
                .probe = preferred ? args.probe : nullptr};
  for (int unit = run.first; unit < run.first + run.count && preferred; ++unit) {
    const std::string output = UnitOutputName(unit);
    if (std::find(args.taps.begin(), args.taps.end(), output) != args.taps.end())
      emit.taps.push_back(output);
  }
  return emit;
}

Part Describe(const UnitRun& run, int unit_count, EmitResult emitted) {
  const bool last = run.first + run.count == unit_count;
  return {.backend = run.backend,
          .first_unit = run.first,
          .unit_count = run.count,
          .input = run.first == 0 ? "ids" : UnitOutputName(run.first - 1),
          .output = last ? "logits" : UnitOutputName(run.first + run.count - 1),
          .files = std::move(emitted.files),
          .contract = std::move(emitted.contract),
          .spill_fill_bytes = emitted.spill_fill_bytes};
}

std::string StepOf(std::string stem) {
  std::replace(stem.begin(), stem.end(), '/', '.');
  return "part-" + stem;
}

// Emits one part, or takes it up from the journal where its files are as they were.
class PartStep {
 public:
  PartStep(const VariantArgs& args, const UnitRun& run, Progress progress, size_t memory_limit)
      : args_(args), run_(run), emit_(ArgsFor(args, run)) {
    emit_.progress = std::move(progress);
    emit_.memory_limit = memory_limit;
  }

  Result<EmitResult> Run() {
    if (auto finished = TakeUp()) return *std::move(finished);
    const std::unique_ptr<Emitter> emitter = TRY(NewEmitter(run_.backend));
    EmitResult result = TRY(emitter->Emit(emit_));
    if (args_.journal) TRY(Record(result));
    return result;
  }

 private:
  std::string step() const { return StepOf(emit_.stem); }

  std::vector<std::string> FilesOf(const EmitResult& result) const {
    std::vector<std::string> files = result.files;
    if (!result.contract.empty()) files.push_back(result.contract);
    return files;
  }

  Result<void> Record(const EmitResult& result) const {
    Json hashes = Json::object();
    for (const std::string& file : FilesOf(result))
      hashes[file] = TRY(Sha256File(args_.directory / file));
    return args_.journal->Record(step(),
                                 {{"files", result.files},
                                  {"contract", result.contract},
                                  {"versions", result.versions},
                                  {"peak_rss_bytes", result.peak_rss_bytes},
                                  {"spill_fill_bytes", result.spill_fill_bytes.value_or(-1)},
                                  {"sha256", hashes}});
  }

  std::optional<EmitResult> TakeUp() const {
    const std::optional<Json> record = args_.journal ? args_.journal->Find(step()) : std::nullopt;
    if (!record) return std::nullopt;
    for (const auto& [file, hash] : record->at("sha256").items()) {
      const Result<std::string> now = Sha256File(args_.directory / file);
      if (!now || *now != hash.get<std::string>()) return std::nullopt;
    }
    EmitResult result;
    record->at("files").get_to(result.files);
    record->at("contract").get_to(result.contract);
    record->at("versions").get_to(result.versions);
    record->at("peak_rss_bytes").get_to(result.peak_rss_bytes);
    const auto spill_fill = record->value("spill_fill_bytes", int64_t{-1});  // not in older records
    if (spill_fill >= 0) result.spill_fill_bytes = spill_fill;
    return result;
  }

  const VariantArgs& args_;
  const UnitRun& run_;
  EmitArgs emit_;
};

// Runs the parts, several at a time where they are compiled in child processes and fit into memory
// together.
class PartQueue {
 public:
  PartQueue(const VariantArgs& args, const Partition& partition)
      : args_(args),
        runs_(partition.runs),
        memory_(partition.memory),
        done_(runs_.size()),
        results_(runs_.size()) {}

  Result<std::vector<EmitResult>> Run() {
    std::vector<std::thread> workers;
    for (size_t i = 0; i < WorkerCount(); ++i) workers.emplace_back([this] { Work(); });
    ShowProgress();
    for (std::thread& worker : workers) worker.join();
    if (error_) return Failure(*std::move(error_));
    std::vector<EmitResult> results;
    for (std::optional<EmitResult>& result : results_) results.push_back(*std::move(result));
    return results;
  }

 private:
  size_t LargestMemory() const {
    size_t largest = 1;
    for (const UnitRun& run : runs_) largest = std::max(largest, run.cost.memory_bytes);
    return largest;
  }

  size_t WorkerCount() const {
    const size_t processors = static_cast<size_t>(DefaultThreads());
    return std::clamp<size_t>(memory_ / LargestMemory(), 1, std::min(processors, runs_.size()));
  }

  void Work() {
    const size_t limit = args_.memory / WorkerCount();  // none unless the user set one
    while (true) {
      size_t index = 0;
      {
        const std::lock_guard lock(mutex_);
        if (error_ || next_ == runs_.size()) break;
        index = next_++;
      }
      const auto progress = [this, index](double fraction, std::string_view what) {
        const std::lock_guard lock(mutex_);
        done_[index] = fraction;
        doing_ = what;
      };
      Store(index, PartStep(args_, runs_[index], progress, limit).Run());
    }
  }

  void Store(size_t index, Result<EmitResult> result) {
    const std::lock_guard lock(mutex_);
    done_[index] = 1;
    ++finished_;
    if (result)
      results_[index] = *std::move(result);
    else if (!error_)
      error_ = std::move(result).error();
    changed_.notify_one();
  }

  // On the calling thread, until nothing runs any more.
  void ShowProgress() {
    std::unique_lock lock(mutex_);
    while (finished_ < next_ || (!error_ && next_ < runs_.size())) {
      changed_.wait_for(lock, std::chrono::milliseconds(100));
      const double sum = std::accumulate(done_.begin(), done_.end(), 0.0);
      const double fraction = sum / static_cast<double>(runs_.size());
      const std::string doing = doing_;
      lock.unlock();
      if (args_.progress) args_.progress(fraction, doing);
      lock.lock();
    }
  }

  const VariantArgs& args_;
  const std::vector<UnitRun>& runs_;
  const size_t memory_;
  std::mutex mutex_;
  std::condition_variable changed_;
  size_t next_ = 0;      // the first that nobody has taken
  size_t finished_ = 0;  // of those taken
  std::vector<double> done_;
  std::string doing_;
  std::vector<std::optional<EmitResult>> results_;
  std::optional<Error> error_;  // the first
};

void MakeFolder(const VariantArgs& args) {
  std::error_code ignored;  // whoever writes into it will say
  std::filesystem::create_directories(args.directory / args.folder, ignored);
}

// One part after the other, each with what left the one before.
Result<std::vector<EmitResult>> ProbeParts(const VariantArgs& args, const Partition& partition) {
  std::vector<EmitResult> results;
  bool entered = false;  // the probe's input belongs to the first part on the backend
  for (const UnitRun& run : partition.runs) {
    results.push_back(TRY(PartStep(args, run, args.progress, args.memory).Run()));
    if (run.backend == args.backend)
      args.probe->input = args.probe->outputs[UnitOutputName(run.first + run.count - 1)];
    else if (entered)
      TRY(args.between(run.first, run.count, *args.probe));
    entered |= run.backend == args.backend;
  }
  return results;
}

}  // namespace

std::string PartStem(const VariantArgs& args, const UnitRun& run) {
  return fmt::format("{}/{}.{}-{}", args.folder, args.name, run.first, run.first + run.count - 1);
}

std::filesystem::path PartRecord(std::string_view stem) {
  return Journal::FileOf(StepOf(std::string(stem)));
}

Result<Partition> PartitionOf(const VariantArgs& args) {
  return PartitionUnits(args.units, {.backend = args.backend,
                                     .target = args.target,
                                     .stage_count = args.stages.size(),
                                     .memory = args.memory});
}

Result<void> CompilePart(const VariantArgs& args, std::string_view stem) {
  const Partition partition = args.partition.runs.empty() ? TRY(PartitionOf(args)) : args.partition;
  std::string known;
  for (const UnitRun& run : partition.runs) {
    if (run.backend != args.backend) continue;
    known += (known.empty() ? "" : ", ") + PartStem(args, run);
    if (PartStem(args, run) != stem) continue;
    MakeFolder(args);
    TRY(PartStep(args, run, args.progress, args.memory).Run());
    return {};
  }
  return Usage("the conversion has no part '{}'", stem)
      .Want("one of: {}", known)
      .Remedy("Plan again with the same options, or convert without --only");
}

Result<VariantResult> CompileVariant(const VariantArgs& args) {
  const auto start = std::chrono::steady_clock::now();
  Partition partition = args.partition.runs.empty() ? TRY(PartitionOf(args)) : args.partition;
  MakeFolder(args);
  VariantResult result{.refusals = std::move(partition.refusals)};
  result.variant = {.name = args.name,
                    .soc = args.target ? std::string(args.target->name) : "",
                    .stages = args.stages};
  std::vector<EmitResult> emitted =
      TRY(args.probe ? ProbeParts(args, partition) : PartQueue(args, partition).Run());
  for (size_t i = 0; i < emitted.size(); ++i) {
    result.versions.merge(emitted[i].versions);
    result.child_peak_rss_bytes = std::max(result.child_peak_rss_bytes, emitted[i].peak_rss_bytes);
    result.variant.parts.push_back(
        Describe(partition.runs[i], args.units.count, std::move(emitted[i])));
  }
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

}  // namespace hexlane
