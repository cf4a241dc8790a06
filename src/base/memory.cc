#include "base/memory.h"

#include <cstdio>
#include <memory>

namespace hexlane {

size_t PeakRssBytes() {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen("/proc/self/status", "re"),
                                                             std::fclose);
  char line[256];
  size_t kilobytes = 0;
  while (file && std::fgets(line, sizeof(line), file.get())) {
    if (std::sscanf(line, "VmHWM: %zu kB", &kilobytes) == 1) return kilobytes << 10;
  }
  return 0;
}

}  // namespace hexlane
