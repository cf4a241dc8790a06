// Writes the checkpoint as a Hugging Face folder.
#ifndef HEXLANE_TOOLS_SYNTHETIC_CHECKPOINT_FOLDER_H_
#define HEXLANE_TOOLS_SYNTHETIC_CHECKPOINT_FOLDER_H_

#include <cstdint>
#include <filesystem>

#include "base/thread_pool.h"
#include "shape.h"

namespace hexlane::synthetic {

struct FolderOptions {
  std::filesystem::path output;
  ModelShape shape;
  uint64_t seed = 0;
  uint64_t shard_bytes = 4'000'000'000;  // of tensors; a larger tensor has a shard of its own
  std::filesystem::path tokenizer;       // tokenizer.json to copy; empty: one is made up
};

struct FolderReport {
  int64_t parameters = 0;
  uint64_t bytes = 0;  // of all tensors
  size_t shards = 0;
};

// The folder appears whole or not at all; it replaces an earlier one that this made, and nothing
// else. Memory: one chunk of 4 MiB for each thread, whatever the shape.
Result<FolderReport> WriteFolder(const FolderOptions& options, ThreadPool& pool);

}  // namespace hexlane::synthetic

#endif  // HEXLANE_TOOLS_SYNTHETIC_CHECKPOINT_FOLDER_H_
