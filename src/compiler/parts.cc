#include "compiler/parts.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <numeric>
#include <optional>
#include <thread>

#include "backends/emitters.h"
#include "base/check.h"
#include "base/file.h"
#include "base/thread_pool.h"

namespace hexlane {
namespace {

std::string StepOf(std::string stem) {
  std::replace(stem.begin(), stem.end(), '/', '.');
  return "part-" + stem;
}

Result<void> Record(const EmitArgs& args, const EmitResult& result, const Journal& journal) {
  std::vector<std::string> files = result.files;
  if (!result.contract.empty()) files.push_back(result.contract);
  Json hashes = Json::object();
  for (const std::string& file : files) hashes[file] = TRY(Sha256File(args.directory / file));
  return journal.Record(StepOf(args.stem),
                        {{"files", result.files},
                         {"contract", result.contract},
                         {"versions", result.versions},
                         {"peak_rss_bytes", result.peak_rss_bytes},
                         {"spill_fill_bytes", result.spill_fill_bytes.value_or(-1)},
                         {"sha256", hashes}});
}

// Nothing when the part is not finished or one of its files is no longer what it was.
std::optional<EmitResult> TakeUp(const EmitArgs& args, const Journal& journal) {
  const std::optional<Json> record = journal.Find(StepOf(args.stem));
  if (!record || !record->is_object() || !record->contains("sha256")) return std::nullopt;
  for (const auto& [file, hash] : record->at("sha256").items()) {
    const Result<std::string> now = Sha256File(args.directory / file);
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

class PartQueue {
 public:
  PartQueue(std::vector<PartTask> tasks, const PartOptions& options)
      : tasks_(std::move(tasks)),
        options_(options),
        done_(tasks_.size()),
        results_(tasks_.size()) {}

  Result<std::vector<EmitResult>> Run() {
    CHECK(!tasks_.empty());
    const size_t count = WorkerCount();
    for (size_t i = 0; i < tasks_.size(); ++i) {
      tasks_[i].args.memory_limit = options_.limit / count;
      tasks_[i].args.progress = [this, i](double fraction, std::string_view what) {
        const std::lock_guard lock(mutex_);
        done_[i] = fraction;
        doing_ = what;
      };
    }
    std::vector<std::thread> workers;
    for (size_t i = 0; i < count; ++i) workers.emplace_back([this] { Work(); });
    ShowProgress();
    for (std::thread& worker : workers) worker.join();
    if (error_) return Failure(*std::move(error_));
    std::vector<EmitResult> results;
    for (std::optional<EmitResult>& result : results_) results.push_back(*std::move(result));
    return results;
  }

 private:
  size_t WorkerCount() const {
    size_t largest = 1;
    for (const PartTask& task : tasks_) largest = std::max(largest, task.memory_bytes);
    const size_t processors = static_cast<size_t>(DefaultThreads());
    return std::clamp<size_t>(options_.memory / largest, 1, std::min(processors, tasks_.size()));
  }

  void Work() {
    while (true) {
      size_t index = 0;
      {
        const std::lock_guard lock(mutex_);
        if (error_ || next_ == tasks_.size()) break;
        index = next_++;
      }
      Store(index, EmitPart(tasks_[index], options_.journal));
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
    while (finished_ < next_ || (!error_ && next_ < tasks_.size())) {
      changed_.wait_for(lock, std::chrono::milliseconds(100));
      const double sum = std::accumulate(done_.begin(), done_.end(), 0.0);
      const double fraction = sum / static_cast<double>(tasks_.size());
      const std::string doing = doing_;
      lock.unlock();
      if (options_.progress) options_.progress(fraction, doing);
      lock.lock();
    }
  }

  std::vector<PartTask> tasks_;
  const PartOptions& options_;
  std::mutex mutex_;
  std::condition_variable changed_;
  size_t next_ = 0;      // the first that nobody has taken
  size_t finished_ = 0;  // of those taken
  std::vector<double> done_;
  std::string doing_;
  std::vector<std::optional<EmitResult>> results_;
  std::optional<Error> error_;  // the first
};

}  // namespace

Result<EmitResult> EmitPart(const PartTask& task, const Journal* journal) {
  if (journal) {
    if (auto finished = TakeUp(task.args, *journal)) return *std::move(finished);
  }
  const std::unique_ptr<Emitter> emitter = TRY(NewEmitter(task.backend));
  EmitResult result = TRY(emitter->Emit(task.args));
  if (journal) TRY(Record(task.args, result, *journal));
  return result;
}

Result<std::vector<EmitResult>> EmitParts(std::vector<PartTask> tasks, const PartOptions& options) {
  return PartQueue(std::move(tasks), options).Run();
}

std::filesystem::path PartRecord(std::string_view stem) {
  return Journal::FileOf(StepOf(std::string(stem)));
}

}  // namespace hexlane
