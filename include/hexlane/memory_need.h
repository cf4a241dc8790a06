// What running a package takes of a device's memory, known before anything is loaded.
#ifndef HEXLANE_MEMORY_NEED_H_
#define HEXLANE_MEMORY_NEED_H_

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "hexlane/status.h"

namespace hexlane {

// Bytes, for one variant and one session.
struct MemoryNeed {
  std::string variant;
  std::string soc;           // "" for the CPU
  int context = 0;           // positions of the cache
  size_t binaries = 0;       // of all context binaries, which are loaded together
  size_t largest_shard = 0;  // of them
  size_t kv_cache = 0;       // full
  // The NPU's buffers for what does not fit its own memory. None: the package does not say.
  std::optional<size_t> spill_fill;
  size_t mapped_weights = 0;  // that the CPU reads; the system can drop their pages

  size_t resident() const { return binaries + kv_cache + spill_fill.value_or(0); }
  size_t total() const { return resident() + mapped_weights; }
};

// One for each variant and context of the package, in the plan's order; nothing is loaded, and the
// files' checksums are not compared. Errors as Engine::Open's of a damaged package.
Result<std::vector<MemoryNeed>> MemoryNeeds(const std::filesystem::path& package);

// {"variant","soc","context","binaries_bytes",…}: see docs/cli.md.
std::string MemoryNeedJson(const MemoryNeed& need);

// What this machine has for new work; 0 where unknown.
size_t AvailableMemory();

}  // namespace hexlane

#endif  // HEXLANE_MEMORY_NEED_H_
