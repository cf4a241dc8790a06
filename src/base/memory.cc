#include "base/memory.h"

#include <malloc.h>

#include <cstdio>
#include <memory>

namespace hexlane {

namespace {

// The figure of one line of /proc/self/status ("VmHWM:   1234 kB"), in bytes; 0 where it is not
// there.
size_t StatusBytes(const char* format) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen("/proc/self/status", "re"),
                                                             std::fclose);
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

void ReleaseFreeMemory() {
#if defined(__GLIBC__)
  malloc_trim(0);
#endif
}

}  // namespace hexlane
