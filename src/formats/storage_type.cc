#include "formats/storage_type.h"

#include <iterator>

namespace hexlane {
namespace {
constexpr StorageInfo kRows[] = {
#define STORAGE(Name, text, elements, bytes, ggml) {text, elements, bytes, ggml},
#include "formats/storage_types.def"
#undef STORAGE
};
}  // namespace

const StorageInfo& Info(StorageType type) { return kRows[static_cast<size_t>(type)]; }

std::optional<StorageType> StorageFromName(std::string_view name) {
  for (size_t i = 0; i < std::size(kRows); ++i)
    if (kRows[i].name == name && kRows[i].block_bytes > 0) return static_cast<StorageType>(i);
  return std::nullopt;
}

StorageType StorageFromGgml(uint32_t number) {
  for (size_t i = 0; i < std::size(kRows); ++i)
    if (kRows[i].ggml_type == static_cast<int64_t>(number)) return static_cast<StorageType>(i);
  return StorageType::kUnknown;
}

}  // namespace hexlane
