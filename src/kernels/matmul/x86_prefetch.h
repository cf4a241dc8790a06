// Reading packed weights at the memory's speed.
#ifndef HEXLANE_KERNELS_MATMUL_X86_PREFETCH_H_
#define HEXLANE_KERNELS_MATMUL_X86_PREFETCH_H_

#include <xmmintrin.h>

#include "kernels/pack/layout.h"

namespace hexlane {
namespace {

// Asks for what T strips side by side will read kAhead bytes later, and at their end for the next T
// strips. The processor's own prefetching stops at every page and cannot know where the next strip
// comes: without this, decoding a model larger than the caches gets half of the memory's bandwidth
// (bench/decode_roofline.sh). The scheme is a constant for the loops' sake.
template <Scheme S, int T>
class Prefetcher {
 public:
  Prefetcher(const StripLayout& layout, const std::byte* base)
      : layout_(layout), next_(base + T * layout.strip_bytes), left_(layout.tiles - kTiles) {
    quants_ = base + kTiles * kTileBytes;
    scales_ = base + layout.scales + kTiles * kScaleBytes;
    if (left_ <= 0) Wrap();
  }
  // For one tile of each strip.
  void Next() {
    if (left_-- == 0) Wrap();
#pragma GCC unroll 8
    for (int t = 0; t < T; ++t) {
      for (int64_t i = 0; i < kTileBytes; i += 64)
        _mm_prefetch(quants_ + t * layout_.strip_bytes + i, _MM_HINT_T0);
      if (kScaleBytes) _mm_prefetch(scales_ + t * layout_.strip_bytes, _MM_HINT_T0);
    }
    quants_ += kTileBytes;
    scales_ += kScaleBytes;
  }

 private:
  static constexpr int64_t kAhead = 2048;
  static constexpr PackedFormat kFormat = FormatOf(S);
  static constexpr int64_t kTileBytes = kFormat.tile_bytes;
  static constexpr int64_t kTiles = kAhead / kTileBytes;
  // Of one tile; of blocks wider than a tile its share.
  static constexpr int64_t kScaleBytes =
      kFormat.scale_bytes * kFormat.blocks_per_tile / kFormat.tiles_per_block;

  void Wrap() { quants_ = next_, scales_ = next_ + layout_.scales; }

  StripLayout layout_;
  const std::byte* next_;
  const std::byte* quants_;
  const std::byte* scales_;
  int64_t left_;  // tiles until the next strips
};

}  // namespace
}  // namespace hexlane

#endif  // HEXLANE_KERNELS_MATMUL_X86_PREFETCH_H_
