// A safetensors file, as bytes: u64 length of the header, the header (JSON, padded with spaces),
// the data.
//   {"__metadata__": {text: text}, name: {"dtype": text, "shape": [..], "data_offsets": [begin,
//   end)}, ..}
// The tensors must cover the data exactly: no hole, no overlap, nothing after the last. As strict
// as the safetensors library, and stricter in that a name that is there twice is always an error.
// Specification: https://github.com/huggingface/safetensors#format
#ifndef HEXLANE_FORMATS_SAFETENSORS_SAFETENSORS_READER_H_
#define HEXLANE_FORMATS_SAFETENSORS_SAFETENSORS_READER_H_

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "formats/checkpoint.h"

namespace hexlane {

struct SafetensorsFile {
  std::map<std::string, std::string> metadata;  // "__metadata__"
  std::vector<StoredTensor> tensors;  // in the order of their data; bytes are views into the input
};

// `where` names the file in errors. kCorrupt; kUnsupported for more than Shape::kMaxRank
// dimensions.
Result<SafetensorsFile> ReadSafetensors(std::span<const std::byte> bytes, std::string_view where);

}  // namespace hexlane

#endif  // HEXLANE_FORMATS_SAFETENSORS_SAFETENSORS_READER_H_
