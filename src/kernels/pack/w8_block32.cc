#include "kernels/pack/f16_scales.h"
#include "kernels/pack/scheme_packer.h"

namespace hexlane {
namespace {
void Store(const QuantizedMatrix& from, int64_t index, std::byte* tile_scales, int lane) {
  StoreF16(from.scales[index], tile_scales, lane);
}
BlockScale Load(const std::byte* tile_scales, int lane) { return {LoadF16(tile_scales, lane), 0}; }
}  // namespace

const SchemePacker kW8Block32Packer = {
    .q_offset = 128, .scale_bytes = 2 * kStripRows, .store = Store, .load = Load};

}  // namespace hexlane
