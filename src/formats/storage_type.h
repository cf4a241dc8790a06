// How the elements of a stored tensor look in the file.
#ifndef HEXLANE_FORMATS_STORAGE_TYPE_H_
#define HEXLANE_FORMATS_STORAGE_TYPE_H_

#include <cstdint>
#include <optional>
#include <string_view>

namespace hexlane {

// Plain types and GGML block types, one row of storage_types.def each.
enum class StorageType : uint8_t {
#define STORAGE(Name, text, elements, bytes, ggml) k##Name,
#include "formats/storage_types.def"
#undef STORAGE
};

struct StorageInfo {
  std::string_view name;   // "Q4_1"
  int block_elements = 1;  // consecutive elements that are stored together
  int block_bytes = 0;     // 0: unknown
  int ggml_type = -1;      // number in GGUF files; -1: not a GGUF type
};
const StorageInfo& Info(StorageType type);

std::optional<StorageType> StorageFromName(
    std::string_view name);                    // safetensors' dtype, or GGML's name
StorageType StorageFromGgml(uint32_t number);  // kUnknown when there is no such row

}  // namespace hexlane

#endif  // HEXLANE_FORMATS_STORAGE_TYPE_H_
