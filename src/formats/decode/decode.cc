#include "formats/decode/decode.h"

namespace hexlane {

BlockDecoder DecoderFor(StorageType type) {
  switch (type) {
#define DECODER(Name) \
  case StorageType::k##Name: return Decode##Name;
#include "formats/decode/decoders.def"
#undef DECODER
    default: return nullptr;
  }
}

std::string DecodableTypes() {
  std::string names;
#define DECODER(Name) \
  names.append(names.empty() ? "" : " ").append(Info(StorageType::k##Name).name);
#include "formats/decode/decoders.def"
#undef DECODER
  return names;
}

}  // namespace hexlane
