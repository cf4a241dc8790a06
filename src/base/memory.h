// Memory of this process and machine, as the kernel reports it.
#ifndef HEXLANE_BASE_MEMORY_H_
#define HEXLANE_BASE_MEMORY_H_

#include <cstddef>

namespace hexlane {

// Largest resident set of this process so far (VmHWM of /proc/self/status); 0 where unknown.
size_t PeakRssBytes();

}  // namespace hexlane

#endif  // HEXLANE_BASE_MEMORY_H_
