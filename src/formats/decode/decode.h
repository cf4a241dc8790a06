// Stored elements to float32.
#ifndef HEXLANE_FORMATS_DECODE_DECODE_H_
#define HEXLANE_FORMATS_DECODE_DECODE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "base/quantized_matrix.h"
#include "formats/storage_type.h"

namespace hexlane {

struct StoredTensor;

// Decodes `blocks` consecutive blocks at `in` (any alignment) into block_elements floats each.
using BlockDecoder = void (*)(const std::byte* in, int64_t blocks, float* out);

// nullptr when there is none. decoders.def lists them.
BlockDecoder DecoderFor(StorageType type);
std::string DecodableTypes();  // "F64 F32 F16 …", for messages

// See Checkpoint::ReadExact.
std::optional<QuantizedMatrix> KeepBlocks(const StoredTensor& tensor);

#define DECODER(Name) void Decode##Name(const std::byte* in, int64_t blocks, float* out);
#include "formats/decode/decoders.def"
#undef DECODER

}  // namespace hexlane

#endif  // HEXLANE_FORMATS_DECODE_DECODE_H_
