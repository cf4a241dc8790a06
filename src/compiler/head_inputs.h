// What a decoder's head multiplies.
#ifndef HEXLANE_COMPILER_HEAD_INPUTS_H_
#define HEXLANE_COMPILER_HEAD_INPUTS_H_

#include <optional>
#include <vector>

#include "backends/emitter.h"
#include "base/thread_pool.h"
#include "models/decoder.h"
#include "quant/moments.h"
#include "quant/schemes.h"

namespace hexlane {

// Moments of the head's inputs when the float model runs over `windows`, for an embedding table
// that is the head too and is rounded for them; nullopt where QuantizeUnit has no use for them.
// Takes the time of one run over the windows and the memory of their hidden states. kCancelled.
Result<std::optional<Moments>> HeadInputs(const Decoder& decoder, const QuantOptions& options,
                                          const std::vector<std::vector<int32_t>>& windows,
                                          ThreadPool* pool, const Progress& progress);

}  // namespace hexlane

#endif  // HEXLANE_COMPILER_HEAD_INPUTS_H_
