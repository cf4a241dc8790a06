// Stored elements to float32.
#ifndef HEXLANE_FORMATS_DECODE_DECODE_H_
#define HEXLANE_FORMATS_DECODE_DECODE_H_

#include <cstddef>
#include <cstdint>
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

// Where the integers of consecutive blocks of 32 elements go, with their scales and minimums:
// w = q · scale + min.
struct KeptBlocks {
  int8_t* q = nullptr;      // [blocks, 32]
  float* scales = nullptr;  // [blocks]
  float* mins = nullptr;    // [blocks]; affine schemes only
};

// How the integers of a stored type are kept (keepers.def).
struct BlockKeeper {
  StorageType type;
  Scheme scheme;  // of blocks of 32
  bool exact;
  void (*keep)(const std::byte* in, int64_t blocks, KeptBlocks out);
};
const BlockKeeper* KeeperFor(StorageType type);  // nullptr when there is none

// A matrix of a type that has a keeper. Scales may be infinite or NaN, as the file has them.
QuantizedMatrix KeepBlocks(const StoredTensor& tensor);

#define DECODER(Name) void Decode##Name(const std::byte* in, int64_t blocks, float* out);
#include "formats/decode/decoders.def"
#undef DECODER
#define KEEPER(Name, scheme, exact) \
  void Keep##Name(const std::byte* in, int64_t blocks, KeptBlocks out);
#include "formats/decode/keepers.def"
#undef KEEPER

}  // namespace hexlane

#endif  // HEXLANE_FORMATS_DECODE_DECODE_H_
