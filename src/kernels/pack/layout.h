// Sizes and offsets of the packed form; pack.h describes it.
#ifndef HEXLANE_KERNELS_PACK_LAYOUT_H_
#define HEXLANE_KERNELS_PACK_LAYOUT_H_

#include <cstdint>

#include "base/scheme.h"

namespace hexlane {

inline constexpr int64_t kStripRows = 16;
inline constexpr int64_t kTileColumns = 32;

// What a row of schemes.def means for the packed form.
struct PackedFormat {
  int bits = 0;
  ScaleKind scale = ScaleKind::kNone;
  int offset = 0;               // stored quants are q + offset, unsigned
  bool channel_scales = false;  // a float32 for every row
  int tile_bytes = 0;           // quants of one tile
  int scale_bytes = 0;          // scales of one block for all rows of a strip; 0: none
  int tiles_per_block = 1;
  int blocks_per_tile = 1;  // 2 where blocks are half as wide as tiles
};

// kernels/ and tests have every row of schemes.def; blocks are as wide as tiles or a power of two
// wider, or half as wide.
constexpr PackedFormat FormatOf(Scheme scheme) {
  const SchemeInfo& info = Info(scheme);
  const bool affine = info.scale == ScaleKind::kAffine;
  const int width = info.scale == ScaleKind::kInteger ? 1 : affine ? 4 : 2;
  PackedFormat format;
  format.bits = info.bits;
  format.scale = info.scale;
  format.offset = affine ? 0 : 1 << (info.bits - 1);
  format.channel_scales = info.block == 0 || info.scale == ScaleKind::kInteger;
  format.tile_bytes = static_cast<int>(kStripRows * kTileColumns) * info.bits / 8;
  if (info.block == 0) return format;
  format.scale_bytes = static_cast<int>(kStripRows) * width;
  format.tiles_per_block = info.block > kTileColumns ? info.block / int{kTileColumns} : 1;
  format.blocks_per_tile = info.block < kTileColumns ? int{kTileColumns} / info.block : 1;
  return format;
}

// Where things are inside a strip, in bytes.
struct StripLayout {
  int64_t tiles = 0;        // in a strip
  int64_t tile_bytes = 0;   // quants of one tile
  int64_t scale_bytes = 0;  // scales of one block; 0: none
  int64_t scales = 0;       // offset of the first block scales
  int64_t channel = 0;      // offset of the channel scales (= strip_bytes when there are none)
  int64_t strip_bytes = 0;
};

}  // namespace hexlane

#endif  // HEXLANE_KERNELS_PACK_LAYOUT_H_
