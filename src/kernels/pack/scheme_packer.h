// What differs between the packed schemes: one SchemePacker each, in <scheme>.cc.
#ifndef HEXLANE_KERNELS_PACK_SCHEME_PACKER_H_
#define HEXLANE_KERNELS_PACK_SCHEME_PACKER_H_

#include "kernels/pack/pack.h"

namespace hexlane {

// One row of one block in both forms.
struct BlockPlace {
  int64_t row = 0;    // in the QuantizedMatrix
  int64_t block = 0;  // in the row
  int lane = 0;       // row within the strip, 0..15
};

struct SchemePacker {
  int q_offset = 0;
  int64_t scale_bytes = 0;      // per tile
  bool channel_scales = false;  // QuantizedMatrix::scales as 16 float32 at the end of each strip
  // Between QuantizedMatrix and the tile's scales; null when scale_bytes is 0.
  void (*store)(const QuantizedMatrix& from, BlockPlace place, std::byte* tile_scales) = nullptr;
  void (*load)(const std::byte* tile_scales, BlockPlace place, QuantizedMatrix& to) = nullptr;
};

extern const SchemePacker kW8ChannelPacker, kW8Block32Packer, kW4Lpbq32Packer, kW4Affine32Packer;

}  // namespace hexlane

#endif  // HEXLANE_KERNELS_PACK_SCHEME_PACKER_H_
