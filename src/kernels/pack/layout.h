// Sizes and offsets of the packed form; pack.h describes it.
#ifndef HEXLANE_KERNELS_PACK_LAYOUT_H_
#define HEXLANE_KERNELS_PACK_LAYOUT_H_

#include <cstdint>

namespace hexlane {

inline constexpr int64_t kStripRows = 16;
inline constexpr int64_t kTileColumns = 32;

// Where things are inside a strip, in bytes.
struct StripLayout {
  int64_t blocks = 0;       // tiles in a strip
  int64_t tile_bytes = 0;   // quants of one tile
  int64_t scale_bytes = 0;  // block scales of one tile; 0: none
  int64_t scales = 0;       // offset of the first block scales
  int64_t channel = 0;      // offset of the channel scales (= strip_bytes when there are none)
  int64_t strip_bytes = 0;
};

}  // namespace hexlane

#endif  // HEXLANE_KERNELS_PACK_LAYOUT_H_
