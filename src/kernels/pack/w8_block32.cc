#include "kernels/pack/f16_scales.h"
#include "kernels/pack/scheme_packer.h"

namespace hexlane {
namespace {
void Store(const QuantizedMatrix& from, BlockPlace p, std::byte* tile_scales) {
  StoreF16(from.scales[p.row * from.blocks() + p.block], tile_scales, p.lane);
}
void Load(const std::byte* tile_scales, BlockPlace p, QuantizedMatrix& to) {
  to.scales[p.row * to.blocks() + p.block] = LoadF16(tile_scales, p.lane);
}
}  // namespace

const SchemePacker kW8Block32Packer = {
    .q_offset = 128, .scale_bytes = 2 * kStripRows, .store = Store, .load = Load};

}  // namespace hexlane
