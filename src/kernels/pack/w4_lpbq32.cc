#include "kernels/pack/scheme_packer.h"

namespace hexlane {
namespace {
void Store(const QuantizedMatrix& from, BlockPlace p, std::byte* tile_scales) {
  tile_scales[p.lane] = std::byte{from.block_scales[p.row * from.blocks() + p.block]};
}
void Load(const std::byte* tile_scales, BlockPlace p, QuantizedMatrix& to) {
  to.block_scales[p.row * to.blocks() + p.block] = static_cast<uint8_t>(tile_scales[p.lane]);
}
}  // namespace

const SchemePacker kW4Lpbq32Packer = {
    .q_offset = 8, .scale_bytes = kStripRows, .channel_scales = true, .store = Store, .load = Load};

}  // namespace hexlane
