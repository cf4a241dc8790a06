// The weights as safetensors files (https://github.com/huggingface/safetensors#format).
#ifndef HEXLANE_TOOLS_SYNTHETIC_CHECKPOINT_SHARDS_H_
#define HEXLANE_TOOLS_SYNTHETIC_CHECKPOINT_SHARDS_H_

#include <filesystem>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/thread_pool.h"
#include "noise.h"

namespace hexlane::synthetic {

struct Shard {
  std::string
      file;  // model-00001-of-00004.safetensors, or model.safetensors when it is the only one
  std::vector<TensorPlan> tensors;
};

// In order, a new shard wherever the next tensor would make one larger than `shard_bytes`.
std::vector<Shard> PlanShards(std::vector<TensorPlan> tensors, uint64_t shard_bytes);

// model.safetensors.index.json.
OrderedJson IndexOf(const std::vector<Shard>& shards);

// kIo; kCancelled after Ctrl-C.
Result<void> WriteShard(const std::filesystem::path& folder, const Shard& shard, uint64_t seed,
                        const NoiseTable& table, ThreadPool& pool);

// Bytes of a tensor's weights in the file.
uint64_t BytesOf(const TensorPlan& tensor);

}  // namespace hexlane::synthetic

#endif  // HEXLANE_TOOLS_SYNTHETIC_CHECKPOINT_SHARDS_H_
