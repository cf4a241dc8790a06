#include "formats/decode/decode.h"

#include "base/check.h"
#include "formats/checkpoint.h"

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

const BlockKeeper* KeeperFor(StorageType type) {
  static constexpr BlockKeeper kKeepers[] = {
#define KEEPER(Name, scheme, exact) {StorageType::k##Name, Scheme::k##scheme, exact, Keep##Name},
#include "formats/decode/keepers.def"
#undef KEEPER
  };
  for (const BlockKeeper& keeper : kKeepers)
    if (keeper.type == type) return &keeper;
  return nullptr;
}

QuantizedMatrix KeepBlocks(const StoredTensor& tensor) {
  const BlockKeeper* keeper = KeeperFor(tensor.type);
  CHECK(keeper != nullptr && tensor.shape.rank() == 2);
  QuantizedMatrix m = QuantizedMatrix::Zero(keeper->scheme, tensor.shape[0], tensor.shape[1]);
  keeper->keep(tensor.bytes.data(), tensor.shape.elements() / Info(keeper->scheme).block,
               {m.q.data(), m.scales.data(), m.mins.data()});
  return m;
}

}  // namespace hexlane
