#include "kernels/pack/f16_scales.h"
#include "kernels/pack/scheme_packer.h"

namespace hexlane {
namespace {
void Store(const QuantizedMatrix& from, int64_t index, std::byte* tile_scales, int lane) {
  StoreF16(from.scales[index], tile_scales, lane);
  StoreF16(from.mins[index], tile_scales, kStripRows + lane);
}
BlockScale Load(const std::byte* tile_scales, int lane) {
  return {LoadF16(tile_scales, lane), LoadF16(tile_scales, kStripRows + lane)};
}
}  // namespace

const SchemePacker kW4Affine32Packer = {
    .q_offset = 0, .scale_bytes = 4 * kStripRows, .store = Store, .load = Load};

}  // namespace hexlane
