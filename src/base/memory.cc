#include "base/memory.h"

#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>

namespace hexlane {

namespace {

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

// The figure of one line of /proc/self/status ("VmHWM:   1234 kB"), in bytes; 0 where it is not
// there.
size_t StatusBytes(const char* format, const char* path = "/proc/self/status") {
  const File file(std::fopen(path, "re"), std::fclose);
  char line[256];
  size_t kilobytes = 0;
  while (file && std::fgets(line, sizeof(line), file.get())) {
    if (std::sscanf(line, format, &kilobytes) == 1) return kilobytes << 10;
  }
  return 0;
}

}  // namespace

size_t PeakRssBytes() { return StatusBytes("VmHWM: %zu kB"); }
size_t RssBytes() { return StatusBytes("VmRSS: %zu kB"); }

size_t OwnMemoryBytes(int process) {
  const std::string path = "/proc/" + std::to_string(process) + "/status";
  return StatusBytes("RssAnon: %zu kB", path.c_str()) +
         StatusBytes("RssShmem: %zu kB", path.c_str());
}

size_t PhysicalMemoryBytes() {
  const size_t machine =
      static_cast<size_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  // "max", or bytes: docs.kernel.org/admin-guide/cgroup-v2.html
  const File file(std::fopen("/sys/fs/cgroup/memory.max", "re"), std::fclose);
  size_t group = 0;
  if (file && std::fscanf(file.get(), "%zu", &group) == 1 && group > 0)
    return std::min(machine, group);
  return machine;
}

size_t AvailableMemoryBytes() {
  return std::min(StatusBytes("MemAvailable: %zu kB", "/proc/meminfo"), PhysicalMemoryBytes());
}

void ReleaseFreeMemory() {
#if defined(__GLIBC__)
  malloc_trim(0);
#endif
}

}  // namespace hexlane
