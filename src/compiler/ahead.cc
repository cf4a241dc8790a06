#include "compiler/ahead.h"

#include <algorithm>

#include "base/thread_pool.h"

namespace hexlane {

AheadCompiler::AheadCompiler(std::vector<VariantArgs> variants, size_t memory) {
  for (VariantArgs& variant : variants) {
    if (!variant.target) continue;
    variant.memory = memory;
    variant.progress = {};
    for (const UnitRun& run : variant.partition.runs)
      if (run.backend == variant.backend) tasks_.push_back({variant, run});
  }
  std::ranges::stable_sort(tasks_, {},
                           [](const Task& task) { return task.run.first + task.run.count; });
  if (!tasks_.empty() && DefaultThreads() > 1) thread_ = std::thread([this] { Work(); });
}

void AheadCompiler::Offer(const UnitSource& units) {
  const std::lock_guard lock(mutex_);
  units_ = units;
  changed_.notify_one();
}

void AheadCompiler::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    changed_.notify_one();
  }
  if (thread_.joinable()) thread_.join();
}

void AheadCompiler::Work() {
  for (Task& task : tasks_) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock,
                    [&] { return stopped_ || units_.count >= task.run.first + task.run.count; });
      if (stopped_) return;
      task.args.units = units_;
    }
    if (!CompilePart(task.args, PartStem(task.args, task.run))) return;
    task.args.units = {};  // the mapped weights
  }
}

}  // namespace hexlane
