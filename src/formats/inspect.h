// What is in a checkpoint file, as JSON for people and scripts. Reads headers only.
#ifndef HEXLANE_FORMATS_INSPECT_H_
#define HEXLANE_FORMATS_INSPECT_H_

#include <filesystem>
#include <nlohmann/json_fwd.hpp>

#include "hexlane/status.h"

namespace hexlane {

// A GGUF file, a safetensors file or a Hugging Face folder. Errors as Checkpoint::Open.
//   {"path", "format": "gguf" | "safetensors" | "huggingface",
//    "version", "alignment",              GGUF only
//    "metadata": {..},                    GGUF: its pairs (a long array as {"array": element type,
//    "length": n});
//                                         safetensors: __metadata__; folder: config.json
//    "files": [{"name", "bytes"}],
//    "tensors": [{"name", "shape", "type", "bytes", "offset", "file"}],       file: index into
//    files "totals": {"tensors", "elements", "bytes", "types": {type: {"tensors", "elements",
//    "bytes"}}}}
Result<nlohmann::json> InspectFile(const std::filesystem::path& path);

}  // namespace hexlane

#endif  // HEXLANE_FORMATS_INSPECT_H_
