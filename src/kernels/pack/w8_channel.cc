#include "kernels/pack/scheme_packer.h"

namespace hexlane {
const SchemePacker kW8ChannelPacker = {.q_offset = 128, .channel_scales = true};
}  // namespace hexlane
