// An index nobody vouches for: no shard name may leave the folder.
#include <filesystem>

#include "base/check.h"
#include "formats/safetensors/safetensors_index.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hexlane;
  const auto index =
      ReadSafetensorsIndex(std::string_view(reinterpret_cast<const char*>(data), size), "fuzz");
  if (!index) return 0;
  for (const std::string& shard : index->shards) {
    const std::filesystem::path path = std::filesystem::path("folder") / shard;
    CHECK(path.lexically_normal().parent_path() == "folder");
  }
  return 0;
}
