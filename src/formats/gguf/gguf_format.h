// A GGUF file as a checkpoint.
#ifndef HEXLANE_FORMATS_GGUF_GGUF_FORMAT_H_
#define HEXLANE_FORMATS_GGUF_GGUF_FORMAT_H_

#include <memory>
#include <span>
#include <string>

#include "formats/format.h"

namespace hexlane {

// `owner` keeps `bytes`. `files` of the result is left empty: bytes need not come from a file.
Result<CheckpointParts> GgufParts(std::span<const std::byte> bytes,
                                  std::shared_ptr<const void> owner, const std::string& where);

}  // namespace hexlane

#endif  // HEXLANE_FORMATS_GGUF_GGUF_FORMAT_H_
