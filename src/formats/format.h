// What an input format provides: a row in formats.def, whose two functions fill CheckpointParts.
#ifndef HEXLANE_FORMATS_FORMAT_H_
#define HEXLANE_FORMATS_FORMAT_H_

#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "formats/checkpoint.h"

namespace hexlane {

struct CheckpointParts {
  std::string format;                 // Checkpoint::format()
  std::string where;                  // path, for error messages
  std::vector<StoredTensor> tensors;  // names unique, bytes inside one of `owners`
  Json config = Json::object();
  Json generation_config = Json::object();
  std::vector<std::filesystem::path> files;
  std::vector<std::shared_ptr<const void>> owners;  // what keeps the tensors' bytes mapped
  std::function<Result<TokenizerFiles>()> tokenizer;
  std::unordered_map<std::string_view, size_t> by_name;  // filled by Checkpoint
};

// Per row of formats.def:
//   Probe<Name>  is `path` (which exists) meant to be of this format? Looks at as little as it can.
//   Open<Name>   maps and validates what it needs to name every tensor.
#define FORMAT(Name, handled)                          \
  bool Probe##Name(const std::filesystem::path& path); \
  Result<CheckpointParts> Open##Name(const std::filesystem::path& path);
#include "formats/formats.def"
#undef FORMAT

}  // namespace hexlane

#endif  // HEXLANE_FORMATS_FORMAT_H_
