#include "kernels/pack/scheme_packer.h"

namespace hexlane {
namespace {
void Store(const QuantizedMatrix& from, int64_t index, std::byte* tile_scales, int lane) {
  tile_scales[lane] = std::byte{from.block_scales[index]};
}
BlockScale Load(const std::byte* tile_scales, int lane) {
  return {static_cast<float>(tile_scales[lane]), 0};
}
}  // namespace

const SchemePacker kW4Lpbq32Packer = {
    .q_offset = 8, .scale_bytes = kStripRows, .channel_scales = true, .store = Store, .load = Load};

}  // namespace hexlane
