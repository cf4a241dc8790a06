// Which processors are big, and threads that keep out of the user interface's way.
#ifndef HEXLANE_RUNTIME_POWER_CORES_H_
#define HEXLANE_RUNTIME_POWER_CORES_H_

#include <filesystem>
#include <memory>
#include <vector>

#include "base/thread_pool.h"
#include "hexlane/engine.h"

namespace hexlane {

// The big processors by `root`/sys/devices/system/cpu, in order: those with at least half the
// largest cpu_capacity; where that is not told, with at least three quarters of the highest
// cpuinfo_max_freq (phones: little cores 60..70 % of the fastest, middle ones from 80 %). All of
// them when all are alike; empty when neither is told.
std::vector<int> BigCores(const std::filesystem::path& root = "/");

// A pool as EngineOptions::threads, worker_nice and big_cores say. kUsage for values out of range;
// kEnvironment when the system refuses the priority.
Result<std::unique_ptr<ThreadPool>> NewThreadPool(const EngineOptions& options,
                                                  const std::filesystem::path& root = "/");

}  // namespace hexlane

#endif  // HEXLANE_RUNTIME_POWER_CORES_H_
