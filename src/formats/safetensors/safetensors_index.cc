#include "formats/safetensors/safetensors_index.h"

#include "base/json.h"

namespace hexlane {
namespace {

constexpr std::string_view kSuffix = ".safetensors";

bool IsPlainShardName(std::string_view name) {
  return name.size() > kSuffix.size() && name.size() < 256 && name.ends_with(kSuffix) &&
         name[0] != '.' && name.find_first_of(std::string_view("/\\\0", 3)) == name.npos;
}

// Of the name in the text: 0 when it is written with escapes.
size_t OffsetOf(std::string_view name, std::string_view text) {
  const size_t offset = text.find(fmt::format("\"{}\"", name));
  return offset == text.npos ? 0 : offset;
}

}  // namespace

Result<SafetensorsIndex> ReadSafetensorsIndex(std::string_view text, std::string_view where) {
  const Json json = TRY(ParseJson(text, where));
  const Json* map = TRY(JsonObject(json, "weight_map", where));
  SafetensorsIndex index;
  for (const auto& [tensor, file] : map->items()) {
    if (!file.is_string() || !IsPlainShardName(file.get_ref<const std::string&>())) {
      return Corrupt("bad shard name for tensor '{}'", tensor)
          .At("{}: weight_map, offset {}", where, OffsetOf(tensor, text))
          .Want("a *.safetensors file in the same folder")
          .Got("{}", file.dump().substr(0, 80));
    }
    index.shard_of[tensor] = file.get<std::string>();
    index.shards.insert(file.get<std::string>());
  }
  return index;
}

}  // namespace hexlane
