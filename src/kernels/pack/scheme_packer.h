// What differs between the packed schemes: one SchemePacker each, in <scheme>.cc.
#ifndef HEXLANE_KERNELS_PACK_SCHEME_PACKER_H_
#define HEXLANE_KERNELS_PACK_SCHEME_PACKER_H_

#include "kernels/pack/pack.h"

namespace hexlane {

// w = (scale of the block, times the channel's where there is one) · q + min
struct BlockScale {
  float scale = 1;
  float min = 0;
};

struct SchemePacker {
  int q_offset = 0;
  int64_t scale_bytes = 0;      // per tile
  bool channel_scales = false;  // QuantizedMatrix::scales as 16 float32 at the end of each strip
  // Block `index` of QuantizedMatrix' arrays to row `lane` (0..15) of a tile's scales, and from
  // there. Null when scale_bytes is 0.
  void (*store)(const QuantizedMatrix& from, int64_t index, std::byte* tile_scales,
                int lane) = nullptr;
  BlockScale (*load)(const std::byte* tile_scales, int lane) = nullptr;
};

extern const SchemePacker kW8ChannelPacker, kW8Block32Packer, kW4Lpbq32Packer, kW4Affine32Packer;

}  // namespace hexlane

#endif  // HEXLANE_KERNELS_PACK_SCHEME_PACKER_H_
