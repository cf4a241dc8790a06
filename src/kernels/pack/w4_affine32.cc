#include "kernels/pack/f16_scales.h"
#include "kernels/pack/scheme_packer.h"

namespace hexlane {
namespace {
void Store(const QuantizedMatrix& from, BlockPlace p, std::byte* tile_scales) {
  const int64_t b = p.row * from.blocks() + p.block;
  StoreF16(from.scales[b], tile_scales, p.lane);
  StoreF16(from.mins[b], tile_scales, kStripRows + p.lane);
}
void Load(const std::byte* tile_scales, BlockPlace p, QuantizedMatrix& to) {
  const int64_t b = p.row * to.blocks() + p.block;
  to.scales[b] = LoadF16(tile_scales, p.lane);
  to.mins[b] = LoadF16(tile_scales, kStripRows + p.lane);
}
}  // namespace

const SchemePacker kW4Affine32Packer = {
    .q_offset = 0, .scale_bytes = 4 * kStripRows, .store = Store, .load = Load};

}  // namespace hexlane
