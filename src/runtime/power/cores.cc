#include "runtime/power/cores.h"

#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <thread>

namespace hexlane {
namespace {

constexpr double kBigCapacity = 0.5;
constexpr double kBigFrequency = 0.75;
constexpr int kMaxNice = 19;

struct Core {
  int cpu = 0;
  double size = 0;
};

// One number of each processor that tells it.
std::vector<Core> ReadCores(const std::filesystem::path& root, const char* file) {
  std::vector<Core> cores;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    const auto folder = root / fmt::format("sys/devices/system/cpu/cpu{}", cpu);
    std::error_code ignored;
    if (!std::filesystem::exists(folder, ignored)) break;
    double size = 0;
    if (std::ifstream(folder / file) >> size && size > 0) cores.push_back({cpu, size});
  }
  return cores;
}

std::vector<int> AtLeast(const std::vector<Core>& cores, double share) {
  double largest = 0;
  for (const Core& core : cores) largest = std::max(largest, core.size);
  std::vector<int> big;
  for (const Core& core : cores)
    if (core.size >= share * largest) big.push_back(core.cpu);
  return big;
}

// The big ones that this thread may use; empty: no choice to make.
std::vector<int> Usable(std::vector<int> cpus) {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return {};
  std::erase_if(cpus, [&](int cpu) { return !CPU_ISSET(cpu, &allowed); });
  return cpus;
}

// Of the calling thread. Nice values are per thread on Linux.
Result<void> Place(int nice, const std::vector<int>& cpus) {
  const auto thread = static_cast<id_t>(syscall(SYS_gettid));
  if (nice != 0 && setpriority(PRIO_PROCESS, thread, nice) != 0)
    return Environment("cannot set the priority of worker threads")
        .Got("{}", std::strerror(errno))
        .Remedy("Use worker_nice = 0");
  if (cpus.empty()) return {};
  cpu_set_t set;
  CPU_ZERO(&set);
  for (int cpu : cpus) CPU_SET(cpu, &set);
  sched_setaffinity(0, sizeof(set), &set);  // a wish: a processor may go offline at any time
  return {};
}

}  // namespace

std::vector<int> BigCores(const std::filesystem::path& root) {
  const std::vector<Core> capacities = ReadCores(root, "cpu_capacity");
  if (!capacities.empty()) return AtLeast(capacities, kBigCapacity);
  return AtLeast(ReadCores(root, "cpufreq/cpuinfo_max_freq"), kBigFrequency);
}

Result<std::unique_ptr<ThreadPool>> NewThreadPool(const EngineOptions& options,
                                                  const std::filesystem::path& root) {
  if (options.threads < 0) return Usage("threads must not be negative").Got("{}", options.threads);
  if (options.worker_nice < 0 || options.worker_nice > kMaxNice)
    return Usage("worker_nice is out of range")
        .Want("0..{}", kMaxNice)
        .Got("{}", options.worker_nice);
  std::vector<int> cpus;
  if (options.big_cores) cpus = Usable(BigCores(root));
  int threads = options.threads;
  if (threads == 0) threads = cpus.empty() ? DefaultThreads() : static_cast<int>(cpus.size());
  if (options.worker_nice == 0 && cpus.empty()) return std::make_unique<ThreadPool>(threads);
  // Threads inherit from the one that starts them, and a thread cannot take a nice value back: a
  // thread of its own starts them, so that the caller stays what it was.
  std::unique_ptr<ThreadPool> pool;
  Result<void> placed;
  std::thread([&] {
    placed = Place(options.worker_nice, cpus);
    if (placed) pool = std::make_unique<ThreadPool>(threads);
  }).join();
  TRY(std::move(placed));
  return pool;
}

}  // namespace hexlane
