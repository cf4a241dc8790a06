// Memory of this process and machine, as the kernel reports it.
#ifndef HEXLANE_BASE_MEMORY_H_
#define HEXLANE_BASE_MEMORY_H_

#include <cstddef>

namespace hexlane {

// Largest resident set of this process so far (VmHWM of /proc/self/status); 0 where unknown.
size_t PeakRssBytes();
size_t RssBytes();  // resident now (VmRSS)

// Resident memory of a process that is not pages of mapped files, which the kernel can drop
// (RssAnon + RssShmem); 0 where unknown.
size_t OwnMemoryBytes(int process);

// Of the machine, or what this process's control group may use where that is less.
size_t PhysicalMemoryBytes();

// That new work can have without swapping, pages of files that can be dropped included:
// MemAvailable of /proc/meminfo, or the control group's limit where that is less; 0 where unknown.
size_t AvailableMemoryBytes();

// Gives memory that the allocator has free back to the system, where it can.
void ReleaseFreeMemory();

}  // namespace hexlane

#endif  // HEXLANE_BASE_MEMORY_H_
