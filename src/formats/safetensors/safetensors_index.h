// model.safetensors.index.json: which shard holds which tensor.
#ifndef HEXLANE_FORMATS_SAFETENSORS_SAFETENSORS_INDEX_H_
#define HEXLANE_FORMATS_SAFETENSORS_SAFETENSORS_INDEX_H_

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "hexlane/status.h"

namespace hexlane {

struct SafetensorsIndex {
  std::map<std::string, std::string> shard_of;  // tensor -> file name
  std::set<std::string> shards;                 // file names, in the index's own folder
};

// kCorrupt for anything that is not {"weight_map": {tensor: file}}, and for a file that is not a
// plain *.safetensors name (no folder, no "..", not the index itself): an index must not reach
// outside its folder.
Result<SafetensorsIndex> ReadSafetensorsIndex(std::string_view text, std::string_view where);

}  // namespace hexlane

#endif  // HEXLANE_FORMATS_SAFETENSORS_SAFETENSORS_INDEX_H_
